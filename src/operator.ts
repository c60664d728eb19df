/** Something that the operator can mend: shown on the command line as it is, without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}

/** Whether an operator may call something so: 1–200 characters in one line, since lists show one thing a line. */
export function isName(text: string): boolean {
  return text.trim() !== '' && [...text].length <= 200 && text.isWellFormed() && !/\p{Cc}/u.test(text)
}
