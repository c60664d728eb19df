import type { SentEvent } from '../../../domain/webhook/delivery/delivery-store.ts'
import { payloadOf } from '../../../domain/webhook/delivery/payload.ts'
import { createSender } from '../../../domain/webhook/delivery/send.ts'
import { signMessage } from '../../../domain/webhook/delivery/sign.ts'
import { generateSecret } from '../../../domain/webhook/secrets.ts'
import type { Io } from '../../io.ts'

export interface ForwardOptions {
  readonly forward?: string
  readonly secret?: string
}

/** Signs events and sends them to an endpoint, as a worker does. Shows the secret if it is a new one. */
export function createForwarder({ stderr }: Io, { forward, secret = generateSecret() }: ForwardOptions) {
  const { send, close } = createSender({ allowPrivateNetworks: true, timeoutMilliseconds: 15_000 })
  if (forward !== undefined) stderr.write(`The secret that signs: ${secret}\n`)
  return {
    close,
    /** Returns the status, or why there is none; undefined without an endpoint. */
    async send(event: SentEvent): Promise<string | undefined> {
      if (forward === undefined) return undefined
      const { status, error } = await send(forward, signMessage(event.id, payloadOf(event), [secret]))
      return error ?? String(status)
    },
  }
}
