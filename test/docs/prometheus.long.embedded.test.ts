import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { startGateway } from '../support/cli.ts'
import { freePort } from '../support/cluster.ts'
import { projectRoot, readPage } from '../support/docs.ts'
import { hasPrometheus, ofDashboard, rules } from './monitoring.ts'

const folder = path.join(projectRoot, 'deploy/monitoring')

/** Runs promtool. Rejects with its output if it finds an error. */
async function promtool(...args: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('promtool', args)
  return stdout + stderr
}

describe.skipIf(!hasPrometheus)("Debian's Prometheus", () => {
  let own: string
  beforeAll(() => {
    own = mkdtempSync(path.join(tmpdir(), 'fusion-prometheus-'))
  })
  afterAll(() => rmSync(own, { recursive: true }))

  it('accepts its configuration and the alert rules', async () => {
    const output = await promtool('check', 'config', path.join(folder, 'prometheus.yml'))
    expect(output).toContain(`${rules.length} rules found`)
  })

  it('fires each alert when something is broken, with its texts, and none on a healthy day', async () => {
    expect(await promtool('test', 'rules', path.join(folder, 'alerts.test.yaml'))).toContain('SUCCESS')
    const tested = readPage('deploy/monitoring/alerts.test.yaml')
    for (const { alert } of rules) expect(tested).toContain(`alertname="${alert}"`)
  })

  it('accepts the expressions of the dashboard', async () => {
    const recorded = ofDashboard.map(({ expr }, index) => ({ record: `dashboard:number_${index}`, expr }))
    const file = path.join(own, 'dashboard.yaml')
    writeFileSync(file, stringify({ groups: [{ name: 'dashboard', rules: recorded }] }))
    expect(await promtool('check', 'rules', file)).toContain(`${ofDashboard.length} rules found`)
  })

  it('reads a gateway that runs, evaluates the rules without an error, and has data for the dashboard', async () => {
    const metricsPort = await freePort()
    const gateway = await startGateway({ DATA_DIR: 'memory', METRICS_PORT: String(metricsPort) })
    const key = /x-api-key: (\S+)/.exec(gateway.output())?.[1] ?? ''
    const port = await freePort()
    cpSync(path.join(folder, 'alerts.yaml'), path.join(own, 'alerts.yaml'))
    const configured = parse(readPage('deploy/monitoring/prometheus.yml'))
    const quick = { ...configured.global, scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' }
    // One process is a gateway and a worker on the embedded database.
    const scrape_configs = configured.scrape_configs.map(({ job_name }: { job_name: string }) => ({
      job_name,
      static_configs: [{ targets: [`127.0.0.1:${metricsPort}`] }],
    }))
    writeFileSync(path.join(own, 'prometheus.yml'), stringify({ ...configured, global: quick, scrape_configs }))
    const data = path.join(own, 'data')
    const args = [
      `--config.file=${own}/prometheus.yml`,
      `--storage.tsdb.path=${data}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]
    const server = spawn('prometheus', args, { stdio: 'ignore' })
    const ask = async (route: string) => (await fetch(`http://127.0.0.1:${port}/api/v1/${route}`)).json()
    const series = async (expr: string): Promise<object[]> => {
      const { status, error, data } = await ask(`query?query=${encodeURIComponent(expr)}`).catch(() => ({}))
      if (status === 'error') throw new Error(`${expr}: ${error}`)
      return data?.result ?? []
    }
    try {
      // Counters rise between two scrapes.
      const send = async () => {
        for (const query of [
          'query Who { viewer { keyName } }',
          'query Broken { users(first: -1) { nodes { id } } }',
        ]) {
          const headers = { 'x-api-key': key, 'content-type': 'application/json' }
          await fetch(`${gateway.address}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
        }
      }
      const shown = [
        'Processes',
        'Oldest due job',
        'Requests by status',
        'Errors by code',
        'Latency',
        'Event loop delay',
        'Memory',
      ]
      const others = [
        'Database connections',
        'Statements',
        'Jobs by state',
        'Top operations',
        'Slowest operations',
        'Points per minute by key',
      ]
      for (const { place, expr } of ofDashboard) {
        const isShown = [...shown, ...others].some((title) => place === `the panel ${title}`)
        const read = async () => {
          await send()
          return (await series(expr)).length
        }
        if (isShown) await expect.poll(read, { timeout: 60_000, message: place }).toBeGreaterThan(0)
        else expect(await series(expr)).toBeInstanceOf(Array)
      }
      const evaluated = async () =>
        (await ask('rules')).data.groups.flatMap((group: { rules: { name: string; health: string }[] }) => group.rules)
      await expect
        .poll(
          async () =>
            (await evaluated()).map(({ name, health }: { name: string; health: string }) => `${name} ${health}`),
          { timeout: 30_000 },
        )
        .toEqual(rules.map(({ alert }) => `${alert} ok`))
      expect(await series('ALERTS{alertname="FusionGatewayDown"}')).toEqual([])
    } finally {
      server.kill()
      await once(server, 'exit')
      await gateway.stop()
    }
  })
})
