import { use } from 'react'
import type { CombinedError } from 'urql'
import { Waiting } from '../client/client.ts'
import { words } from './format.ts'

/** The colours of statuses. The text says the same, so colour is not needed to read it. */
const tones: Readonly<Record<string, string>> = {
  CONNECTED: 'good',
  SUCCEEDED: 'good',
  EXPIRED: 'warning',
  RUNNING: 'busy',
  DISCONNECTED: 'bad',
  FAILED: 'bad',
}

export function Status({ status }: { readonly status: string }) {
  return <span className={`status ${tones[status] ?? ''}`}>{words(status)}</span>
}

/** Whether changes arrive. */
export function Live({ error }: { readonly error: CombinedError | undefined }) {
  const isLive = !use(Waiting) && !error
  return (
    <p className={isLive ? 'live' : 'live off'} role="status">
      {isLive ? 'Live' : 'Connecting again'}
    </p>
  )
}

export function Platform({ platform }: { readonly platform: string }) {
  return (
    <span className="platform" data-platform={platform}>
      {words(platform)}
    </span>
  )
}
