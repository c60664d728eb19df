import { setTimeout as sleep } from 'node:timers/promises'
import { subscribe } from '../../support/events.ts'
import type { SentJob } from '../ledger.ts'
import type { WriterOptions } from './write.ts'

/** Subscriptions to jobs. */
export interface Follows {
  begun: number
  /** The jobs whose end the subscribers saw. */
  ended: number
  /** The jobs that are being followed. */
  readonly open: Set<string>
}

const query = 'subscription ($id: ID!) { job(id: $id) { status } }'

const pauseMilliseconds = 500

/**
 * Follows one job after the other to its end, until the signal aborts. Subscribes again when a stream breaks.
 *
 * @param end aborts when no job is followed any longer
 */
export async function followJobs(
  { client, ledger }: WriterOptions,
  gateways: readonly string[],
  follows: Follows,
  signal: AbortSignal,
  end: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(pauseMilliseconds)
    const [job] = ledger.jobs.slice(-10).filter(({ id }) => id !== undefined)
    if (!job?.id || follows.open.has(job.id)) continue
    follows.begun += 1
    follows.open.add(job.id)
    while (!(await seesEnd(client.random.pick(gateways), job))) {
      if (end.aborted) return
      await sleep(pauseMilliseconds)
    }
    follows.open.delete(job.id)
    follows.ended += 1
  }
}

/** Follows a job until its stream breaks or ends. Returns whether the job succeeded before. */
async function seesEnd(address: string, { tenant, id }: SentJob): Promise<boolean> {
  const events = await subscribe(address, tenant.key, query, { id }).catch(() => undefined)
  if (!events) return false
  try {
    for (;;) {
      const event = await events.next()
      if (!event) return false
      const job = event.data?.data?.['job'] as { status: string } | null | undefined
      if (job?.status === 'SUCCEEDED') return true
    }
  } catch {
    return false
  } finally {
    events.close()
  }
}
