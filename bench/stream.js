import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { peakMemory, resetPeakMemory } from './machine.js'

/** Case (j): GET /users of a large tenant, compared with psql's COPY of the same rows as JSON. */
export async function measureStream({ port, pid, key, url, many, users, rounds }) {
  const results = []
  for (let round = 0; round < rounds; round += 1) {
    resetPeakMemory(pid)
    const before = peakMemory(pid)
    const startedAt = performance.now()
    const response = await fetch(`http://127.0.0.1:${port}/users`, { headers: { 'x-api-key': key } })
    let firstByte
    let bytes = 0
    for await (const chunk of response.body) {
      firstByte ??= performance.now() - startedAt
      bytes += chunk.length
    }
    const seconds = (performance.now() - startedAt) / 1_000
    const copied = await copySeconds(url, many)
    results.push({
      firstByte,
      usersPerSecond: users / seconds,
      copiedPerSecond: users / copied,
      bytes,
      growth: peakMemory(pid) - before,
    })
  }
  return results
}

async function copySeconds(url, tenant) {
  const statement = `COPY (SELECT json_agg(json_build_object('id', u.id, 'created_at', u.created_at, 'updated_at', u.updated_at,
    'name', u.name, 'email', u.email, 'phone', u.phone, 'tenant_app_id', u.tenant_app_id, 'accounts', (SELECT json_agg(
    json_build_object('id', a.id, 'user_platform', a.platform, 'platform_account_id', a.platform_account_id, 'display_name',
    a.display_name) ORDER BY a.created_at, a.id) FROM account a WHERE a.tenant_app_id = u.tenant_app_id AND a.user_id = u.id))
    ORDER BY u.created_at, u.id) FROM "user" u WHERE u.tenant_app_id = '${tenant}') TO STDOUT`
  const startedAt = performance.now()
  const child = spawn('psql', ['-qd', url, '-c', statement.replaceAll('\n', ' ')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.stdout.resume()
  await once(child, 'close')
  return (performance.now() - startedAt) / 1_000
}
