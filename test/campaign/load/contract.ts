import { errorCodes, isErrorCode } from '@fusion-gateway/base'

/** A response of a gateway. */
export interface GatewayResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Statuses after which a client may send the request again, if the response says when. */
const temporary = new Set([409, 429, 503])

/** The codes of the errors of a response, in GraphQL or REST. */
export function codesOf({ text }: GatewayResponse): string[] {
  try {
    const body = JSON.parse(text)
    if (typeof body.code === 'string') return [body.code]
    return (body.errors ?? []).map((error: { extensions?: { code?: string } }) => error.extensions?.code ?? 'none')
  } catch {
    return ['not JSON']
  }
}

/**
 * Compares a response with the contract of docs/rest.md and docs/graphql.md.
 *
 * @returns the first violation; undefined if there is none
 */
export function findViolation(path: string, response: GatewayResponse): string | undefined {
  const { status, headers } = response
  if (status >= 500 && status !== 503) return `the status is ${status}`
  if (!headers.get('x-request-id')) return 'there is no x-request-id'
  const cacheControl = headers.has('etag') ? 'private, no-cache' : 'no-store'
  if (headers.get('cache-control') !== cacheControl) return `cache-control is ${headers.get('cache-control')}`
  const codes = codesOf(response)
  if (codes.includes('INTERNAL') || codes.includes('not JSON')) return `the error is ${codes}`
  const isTemporary = temporary.has(status) || codes.includes('SERVICE_UNAVAILABLE')
  if (isTemporary && !(Number(headers.get('retry-after')) > 0)) return 'there is no retry-after'
  if (status < 400) return undefined
  const [code] = codes
  if (!isErrorCode(code) || errorCodes[code].status !== status) return `the code is ${code}`
  const isProblem = headers.get('content-type')?.startsWith('application/problem+json')
  if (!isProblem) return path === '/graphql' ? undefined : `the type is ${headers.get('content-type')}`
  const problem = JSON.parse(response.text)
  const missing = ['type', 'title', 'status', 'detail', 'instance', 'request_id'].find((name) => !problem[name])
  return missing && `the problem document has no ${missing}`
}
