import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { loadServer, median } from './measure.js'
import { projectRoot, startProcess } from './peer.js'

const cli = path.join(projectRoot, 'src/cli.ts')

/** Case (n): cases (a) and (h) on the embedded database. */
export async function measureEmbedded({ asks, users, port, rounds, seconds }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-embedded-'))
  const env = { DATA_DIR: folder, RATE_LIMIT: '0', RESPONSE_CACHE_MIB: '0', PORT: String(port), DATABASE_URL: '' }
  const fusion = async (...args) =>
    (await promisify(execFile)(process.execPath, [cli, ...args], { env: { ...process.env, ...env } })).stdout.trim()
  await fusion('tenants', 'create', 'Embedded')
  await fusion('seed', '--tenant', 'Embedded', '--users', String(users))
  const key = await fusion('keys', 'create', '--tenant', 'Embedded')
  const child = await startProcess('embedded', [cli, 'serve'], env)
  const server = { port, child, key }
  try {
    const response = await fetch(`http://127.0.0.1:${port}/users?limit=1`, { headers: { 'x-api-key': key } })
    const [{ id }] = (await response.json()).users
    const rows = []
    for (const [title, ask] of [
      ['(a)', asks.a],
      ['(h)', { ...asks.h, path: `/users/${id}` }],
    ]) {
      if (seconds > 0) await loadServer(server, ask, 1)
      const runs = []
      for (let round = 0; round < rounds; round += 1) runs.push(await loadServer(server, ask, seconds))
      const of = (name) => median(runs.map((run) => run[name]))
      rows.push({ title, perSecond: of('perSecond'), p50: of('p50'), cpu: of('serverCpu') })
    }
    return rows
  } finally {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  }
}

/** The table of case (n). */
export function embeddedLines(rows) {
  return [
    '| case | requests/s | p50 ms | CPU |',
    '|---|---|---|---|',
    ...rows.map(
      ({ title, perSecond, p50, cpu }) => `| ${title} | ${perSecond.toFixed(0)} | ${p50} | ${cpu.toFixed(2)} |`,
    ),
  ]
}
