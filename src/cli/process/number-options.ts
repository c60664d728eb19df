import { InvalidArgumentError } from 'commander'

export const defaultConcurrency = 4
export const defaultLeaseSeconds = 30
export const defaultModulus = 16

/** Reads `--concurrency`. */
export function readConcurrency(text: string): number {
  return readNumber(text, 1, 1_000)
}

/** Reads `--processes`. */
export function readProcesses(text: string): number {
  return readNumber(text, 1, 64)
}

/** Reads `--lease`. */
export function readLeaseSeconds(text: string): number {
  return readNumber(text, 1, 3_600)
}

/** Reads `--modulus`. */
export function readModulus(text: string): number {
  return readNumber(text, 2, 256)
}

function readNumber(text: string, min: number, max: number): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || number < min || number > max) {
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`)
  }
  return number
}
