import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createAuthority, createCluster } from '../support/cluster.ts'
import { listen, prepare } from '../support/gateway.ts'

let folder: string
let cluster: Cluster
let key: string

beforeAll(async () => {
  if (!canCreateClusters) return
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-tls-'))
  createAuthority(folder, 'other')
  cluster = await createCluster({ listen_addresses: '127.0.0.1,127.0.0.2' })
  key = (await prepare(cluster)).key
  copyFileSync(cluster.authority, path.join(folder, 'ca.crt'))
})
afterAll(async () => {
  await cluster?.remove()
  if (folder) rmSync(folder, { recursive: true })
})

function urlOf({ host = 'localhost', ca = 'ca.crt', more = '' }): string {
  const url = new URL(cluster.url)
  url.hostname = host
  url.searchParams.set('sslrootcert', path.join(folder, ca))
  return url.href + more
}

describe.skipIf(!canCreateClusters)('a server with a certificate of its own authority', () => {
  it('is refused in one line that says what is wrong with the certificate or its file', async () => {
    const reasons = {
      ': unable to verify the first certificate': { ca: 'other.crt' },
      ": Hostname/IP does not match certificate's altnames": { host: '127.0.0.2' },
      'cannot be used: ENOENT: no such file': { ca: 'missing.crt' },
      'cannot be used: error:05800074:x509 certificate routines::key values mismatch': {
        more: `&sslcert=${folder}/ca.crt&sslkey=${folder}/other.key`,
      },
    }
    for (const [reason, parts] of Object.entries(reasons)) {
      const { code, stderr } = await fusion(['serve'], { DATABASE_URL: urlOf(parts) })
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^[^\n]+\n$/) })
      expect(stderr).toContain(reason)
    }
  })

  it('is used, also on new connections after the file of the authority was removed', async () => {
    copyFileSync(path.join(folder, 'ca.crt'), path.join(folder, 'removed.crt'))
    const gateway = await listen(urlOf({ ca: 'removed.crt' }))
    const ask = async () => (await fetch(`${gateway.address}/users`, { headers: { 'x-api-key': key } })).status
    expect(await ask()).toBe(200)
    rmSync(path.join(folder, 'removed.crt'))
    const session = new pg.Client({ connectionString: cluster.adminUrl })
    await session.connect()
    await session.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fusion-gateway'`,
    )
    await session.end()
    await expect.poll(() => gateway.database.driver.connections()).toMatchObject({ idle: 0 })
    expect(await ask()).toBe(200)
    await gateway.close()
  })
})
