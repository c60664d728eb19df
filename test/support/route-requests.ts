import type { Route } from '../../src/rest/route.ts'
import type { createOneOfEach } from './factories.ts'

/** A valid body for each route that takes one, in which every text is `text` where the rules allow it. */
export function bodyOf({ method, url }: Pick<Route, 'method' | 'url'>, text = 'Ada'): object | undefined {
  const bodies: Record<string, object> = {
    'POST /users': { name: text, email: 'ada@example.com', phone: '1' },
    'PUT /users/:id': { name: text },
    'POST /users/:id/accounts': { user_platform: 'TIKTOK', platform_account_id: text, display_name: text },
    'PUT /accounts/:id/profile': { full_name: text },
    'POST /fusion/jobs': { job_type: 'fetch_content', payload: { text } },
  }
  return bodies[`${method} ${url}`]
}

/** The id of the row that the path of a route names. */
export function idFor({ url }: Pick<Route, 'url'>, rows: Awaited<ReturnType<typeof createOneOfEach>>): string {
  if (url.startsWith('/users')) return rows.user.id
  return url.startsWith('/accounts') ? rows.account.id : rows.job.id
}

/** The query of a request to a route that needs one. */
export function searchFor({ url }: Pick<Route, 'url'>, { account }: Awaited<ReturnType<typeof createOneOfEach>>) {
  if (url === '/fusion/profiles') return `?account_ids=${account.id}`
  return url.endsWith('/history') ? '?metric=followers' : ''
}

/** The state in which a job can take the action of a route. */
export function jobStatusFor({ url }: Pick<Route, 'url'>): 'FAILED' | 'PENDING' {
  return url.endsWith('/retry') ? 'FAILED' : 'PENDING'
}
