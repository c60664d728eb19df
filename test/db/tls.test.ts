import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { listen, prepare } from '../support/gateway.ts'

const canCreateCertificates = spawnSync('openssl', ['version']).status === 0

let folder: string
let cluster: Cluster
let key: string

beforeAll(async () => {
  if (!canCreateClusters || !canCreateCertificates) return
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-tls-'))
  chmodSync(folder, 0o755)
  for (const authority of ['ca', 'other']) {
    openssl(`req -x509 -newkey rsa:2048 -nodes -subj /CN=${authority} -keyout ${authority}.key -out ${authority}.crt`)
  }
  openssl('req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr')
  writeFileSync(path.join(folder, 'names'), 'subjectAltName=DNS:localhost')
  openssl('x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -extfile names -out server.crt')
  if (process.getuid?.() === 0) execFileSync('chown', ['postgres', path.join(folder, 'server.key')])
  cluster = await createCluster({
    ssl: 'on',
    ssl_cert_file: path.join(folder, 'server.crt'),
    ssl_key_file: path.join(folder, 'server.key'),
  })
  key = (await prepare(cluster.url)).key
})
afterAll(async () => {
  await cluster?.remove()
  if (folder) rmSync(folder, { recursive: true })
})

function openssl(command: string): void {
  execFileSync('openssl', command.split(' '), { cwd: folder, stdio: 'ignore' })
}

function urlOf({ host = 'localhost', ca = 'ca.crt', more = '' }): string {
  const url = new URL(cluster.url)
  url.hostname = host
  const file = encodeURIComponent(path.join(folder, ca))
  return `${url.href}?sslmode=verify-full&sslrootcert=${file}${more}`
}

describe.skipIf(!canCreateClusters || !canCreateCertificates)(
  'a server with a certificate of its own authority',
  () => {
    it('is refused in one line that says what is wrong with the certificate or its file', async () => {
      const reasons = {
        'cannot be reached: unable to verify the first certificate': { ca: 'other.crt' },
        "cannot be reached: Hostname/IP does not match certificate's altnames": { host: '127.0.0.1' },
        'cannot be used: ENOENT: no such file': { ca: 'missing.crt' },
        'cannot be used: error:05800074:x509 certificate routines::key values mismatch': {
          more: `&sslcert=${folder}/server.crt&sslkey=${folder}/other.key`,
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
      const session = new pg.Client({ connectionString: cluster.url })
      await session.connect()
      await session.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fusion-gateway'`,
      )
      await session.end()
      await expect.poll(() => gateway.database.driver.connections()).toMatchObject({ idle: 0 })
      expect(await ask()).toBe(200)
      await gateway.close()
    })
  },
)
