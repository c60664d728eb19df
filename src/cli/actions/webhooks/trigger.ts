import { randomBytes } from 'node:crypto'
import type { EventType } from '../../../domain/event/event.ts'
import type { SentEvent } from '../../../domain/webhook/delivery/delivery-store.ts'
import { OperatorError } from '../../../engine/errors.ts'
import type { Io } from '../../io.ts'
import { createForwarder, type ForwardOptions } from './forwarder.ts'

export type TriggerOptions = ForwardOptions

/** Sends an example of an event to an endpoint. */
export async function trigger(io: Io, type: EventType, options: TriggerOptions): Promise<void> {
  const { send, close } = createForwarder(io, options)
  const result = await send(exampleOf(type))
  await close()
  if (!result?.startsWith('2')) throw new OperatorError(`${options.forward}: ${result}`)
  io.stdout.write(`${result}\n`)
}

/** The prefixes of the ids of the resources that events are about. */
const prefixes: Readonly<Record<string, string>> = {
  USER: 'usr',
  ACCOUNT: 'acc',
  PROFILE: 'prf',
  JOB: 'job',
  WEBHOOK: 'whk',
}

function exampleOf(type: EventType): SentEvent {
  const [resource = ''] = type.split('_')
  const isOfUser = ['USER', 'ACCOUNT', 'PROFILE'].includes(resource)
  return {
    id: `evt_${randomBytes(12).toString('hex')}`,
    type,
    resourceId: `${prefixes[resource]}_example`,
    userId: isOfUser ? 'usr_example' : null,
    keyId: null,
    requestId: null,
    createdAt: new Date(),
  }
}
