import { GatewayError } from '../errors.ts'

const checkMilliseconds = 1_000

/**
 * Checks a key or token each second, for streams that may have nothing to send for a long time.
 *
 * @param check rejects with UNAUTHENTICATED when the key or token is no longer valid. After other errors, such as those of a database
 *   that does not answer, it is called again
 * @param onInvalid called once
 * @returns stops checking
 */
export function watchCredential(check: () => Promise<unknown>, onInvalid: (reason: GatewayError) => void): () => void {
  const timer = setInterval(() => {
    check().catch((error: unknown) => {
      if (!(error instanceof GatewayError && error.code === 'UNAUTHENTICATED')) return
      clearInterval(timer)
      onInvalid(error)
    })
  }, checkMilliseconds).unref()
  return () => clearInterval(timer)
}
