/** Something that the operator can mend: shown on the command line as it is, without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}
