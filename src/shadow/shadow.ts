import type { ReceivedResponse } from '../old-service/send.ts'
import { type Client, exchange, reasonOf, type SentRequest } from '../old-service/send.ts'
import type { Comparer } from './comparer.ts'
import type { Report } from './report.ts'

/** A request with its body. */
export interface FullRequest extends SentRequest {
  readonly body: Buffer
}

/** A request, what the old service has sent, and how long that took. */
export interface Recorded {
  /** By which the report groups. */
  readonly route: string
  readonly request: FullRequest
  readonly response: ReceivedResponse
  readonly milliseconds: number
}

/** How long the new service may take. */
const newMilliseconds = 30_000

/** Conditions that the tags of another service never meet, and parts that another service need not send. */
export const ofOldService = [
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  'range',
]

/** Sends a request to the new service too, and reports how its response differs. Never throws. */
export async function compareWithNew(client: Client, recorded: Recorded, reporter: Reporter): Promise<void> {
  const { request } = recorded
  const started = performance.now()
  const response = await exchange(client, request, request.body, {
    without: ofOldService,
    milliseconds: newMilliseconds,
  }).catch((error: unknown) => ({ failure: reasonOf(error) }))
  const milliseconds = performance.now() - started
  await reportComparison(recorded, 'failure' in response ? response : { response, milliseconds }, reporter)
}

/** What compares responses, and collects what differs. */
export interface Reporter {
  readonly report: Report
  readonly comparer: Comparer
}

/** What the new service has sent, or why there is nothing. */
type Outcome = Pick<Recorded, 'response' | 'milliseconds'> | { readonly failure: string }

/** Reports how two responses to a request differ. */
export async function reportComparison(
  recorded: Recorded,
  outcome: Outcome,
  { report, comparer }: Reporter,
): Promise<void> {
  const { route, request, response: old, milliseconds } = recorded
  const comparison = report.begin(route, request)
  report.addTime(route, 'old', milliseconds)
  if ('failure' in outcome) {
    comparison.add({ path: 'response', kind: 'failure', old: old.status, new: outcome.failure })
    comparison.end()
    return
  }
  report.addTime(route, 'new', outcome.milliseconds)
  const compared = await comparer.compare({ route, old, new: outcome.response })
  if ('reason' in compared) {
    report.skip(compared.reason)
    return
  }
  for (const { values, ...difference } of compared.found) comparison.add(difference, values)
  comparison.end()
}
