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

export function Platform({ platform }: { readonly platform: string }) {
  return (
    <span className="platform" data-platform={platform}>
      {words(platform)}
    </span>
  )
}
