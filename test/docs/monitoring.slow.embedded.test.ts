import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { createMetrics, measureNodes, measureProcess } from '@fusion-gateway/telemetry'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import dashboard from '../../deploy/monitoring/dashboard.json' with { type: 'json' }
import { readConfig } from '../../src/config.ts'
import { measureJobs } from '../../src/domain/job/store/job-counts.ts'
import { type RunningGateway, startGateway } from '../support/cli.ts'
import { freePort } from '../support/cluster.ts'
import { projectRoot, readPage } from '../support/docs.ts'
import { ofAlerts, ofDashboard, rules } from './monitoring.ts'

const folder = 'deploy/monitoring'

/** The names of metrics in an expression, with the labels by which it selects: `fusion_jobs{state="PENDING"}`. */
function metricsIn(expr: string) {
  return [...expr.matchAll(/\b((?:fusion|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', selector = '']) => ({
      name: name.replace(/_(bucket|count|sum)$/, ''),
      selects: [...selector.matchAll(/(\w+)\s*[=!]/g)].map(([, label]) => String(label)),
    }),
  )
}

const groupedBy = (expr: string) =>
  [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(',').map((label) => label.trim()))

describe('the dashboard and the alerts', () => {
  let gateway: RunningGateway
  /** What a gateway shows that has served nothing yet, and the types of its metrics by their names. */
  let text: string
  let served: Map<string, string>

  beforeAll(async () => {
    const port = await freePort()
    gateway = await startGateway({ DATA_DIR: 'memory', METRICS_PORT: String(port) })
    text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    served = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]))
  })
  afterAll(() => gateway.stop())

  // A series has labels only when something was counted, so these are the labels with which metrics are created.
  const metrics = createMetrics()
  measureProcess(metrics, () => ({ inUse: 0, idle: 0, waiting: 0 }))
  measureJobs(metrics, async () => ({ states: [], oldestDueSeconds: 0 }))
  measureNodes(metrics, { driver: {} })
  const created = metrics.registry.getMetricsAsArray() as unknown as { name: string; labelNames: string[] }[]
  const labelsOf = (name: string) => created.find((metric) => metric.name === name)?.labelNames ?? []

  it.each([...ofDashboard, ...ofAlerts])(
    'name metrics that a gateway serves, and their labels: $place',
    ({ expr, legend }) => {
      const named = metricsIn(expr)
      expect(named.length + [...expr.matchAll(/\b(up|ALERTS)\{/g)].length).toBeGreaterThan(0)
      // Prometheus sets these.
      const always = ['job', 'instance', 'alertname']
      for (const { name, selects } of named) {
        expect([...served.keys()], expr).toContain(name)
        expect([...labelsOf(name), 'job'], expr).toEqual(expect.arrayContaining(selects))
        const isHistogram = new RegExp(`${name}_(bucket|count|sum)`).test(expr)
        expect(served.get(name) === 'histogram', expr).toBe(isHistogram)
        expect(served.get(name) !== 'counter' || /(rate|increase)\(/.test(expr), expr).toBe(true)
      }
      const known = [...named.flatMap(({ name }) => labelsOf(name)), 'le', ...always]
      expect(known, expr).toEqual(expect.arrayContaining(groupedBy(expr)))
      const inLegend = [...(legend ?? '').matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => String(label))
      const left = groupedBy(expr).length > 0 ? groupedBy(expr) : known
      expect(left, expr).toEqual(expect.arrayContaining(inLegend))
    },
  )

  it.each(ofAlerts)('count from 0, so that the first event is growth: $place', ({ expr }) => {
    // The series of requests have the name of their operation. They grow with the second request.
    const counters = metricsIn(expr).filter(({ name }) => served.get(name) === 'counter')
    for (const { name } of counters) expect(text, expr).toMatch(new RegExp(`^${name}(\\{.*\\})? 0$`, 'm'))
  })
})

it('series by key and by operation are not shown on the port of the gateway, which clients reach', async () => {
  const gateway = await startGateway({ DATA_DIR: 'memory' })
  const [, key = ''] = /x-api-key: (\S+)/.exec(gateway.output()) ?? []
  const sent = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'query OfOneTenant { users(first: 1) { nodes { id } } }' }),
  })
  expect(sent.status).toBe(200)
  const text = await (await fetch(`${gateway.address}/metrics`)).text()
  await gateway.stop()
  expect(text).toMatch(/^fusion_points_spent_total 1$/m)
  expect(text).toContain(
    'fusion_http_request_duration_seconds_count{route="POST /graphql",operation="",status="200"} 1',
  )
  expect(text).not.toMatch(/OfOneTenant|spent_by_key|key=/)
})

it('pages within a minute when no gateway is ready, and within two when most requests fail', () => {
  const { global } = parse(readPage(`${folder}/prometheus.yml`))
  const seconds = (duration: string) => Number(/^(\d+)(s|m)$/.exec(duration)?.[1]) * (duration.endsWith('m') ? 60 : 1)
  const lag = [global.scrape_interval, global.scrape_timeout, global.evaluation_interval].map(seconds)
  const latest = (name: string) =>
    seconds(rules.find(({ alert }) => alert === name)?.for ?? '') + lag.reduce((sum, one) => sum + one)
  expect(latest('FusionGatewayDown')).toBe(55)
  expect(readPage('docs/operating.md')).toMatch(/: 55 seconds for\s+`FusionGatewayDown`/)
  // A series that begins with the first failure grows with the next scrape.
  for (const name of ['FusionErrors', 'FusionFieldErrors', 'FusionShedding']) {
    expect(latest(name) + seconds(global.scrape_interval), name).toBeLessThan(120)
  }
})

it('each alert has a runbook to which it links, and each runbook an alert', () => {
  expect(rules.map(({ alert }) => alert).toSorted()).toEqual(
    [...readPage('docs/runbooks.md').matchAll(/^## (.*)$/gm)].map(([, name]) => name).toSorted(),
  )
  for (const { alert, labels, annotations } of rules) {
    expect(['page', 'ticket']).toContain(labels.severity)
    expect(annotations.summary).toMatch(/\.$/)
    const anchor = alert.toLowerCase()
    expect(annotations.runbook_url).toBe(`{{ $externalLabels.fusion_gateway }}/guides/runbooks#${anchor}`)
  }
  expect(readPage(`${folder}/prometheus.yml`)).toContain('fusion_gateway: http')
})

describe('the dashboard', () => {
  it("has the type that Grafana's own package states", async () => {
    const { panels, ...rest } = dashboard
    // JSON states the values of enums as texts.
    const stated = `import type { Dashboard, Panel } from '@grafana/schema'
      type Stated<T> = 0 extends 1 & T ? T : T extends string ? \`\${T}\` : T extends readonly (infer E)[] ? Stated<E>[]
        : T extends object ? { [K in keyof T]: Stated<T[K]> } : T
      export const dashboard: Stated<Omit<Dashboard, 'panels'>> = ${JSON.stringify(rest, undefined, 2)}
      export const panels: Stated<Panel>[] = ${JSON.stringify(panels, undefined, 2)}`
    // Within the project, so that the package is found.
    const own = mkdtempSync(path.join(projectRoot, 'node_modules', '.dashboard-'))
    writeFileSync(path.join(own, 'dashboard.ts'), stated)
    const args = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'preserve', '--ignoreConfig']
    const tsc = path.join(projectRoot, 'node_modules', '.bin', 'tsc')
    const { stdout } = await promisify(execFile)(tsc, [...args, path.join(own, 'dashboard.ts')]).catch((error) => error)
    rmSync(own, { recursive: true })
    expect(stdout).toBe('')
  })

  it('has panels that do not overlap, and reads the data source that is selected', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) => {
      expect(x + w).toBeLessThanOrEqual(24)
      return Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`)
    })
    expect(new Set(cells).size).toBe(cells.length)
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
    expect(dashboard.templating.list).toEqual([expect.objectContaining({ name: 'datasource', query: 'prometheus' })])
    for (const { datasource } of dashboard.panels.flatMap((panel) => [panel, ...panel.targets])) {
      expect(datasource).toEqual({ type: 'prometheus', uid: `\${datasource}` })
    }
  })
})

describe('Prometheus and Grafana', () => {
  const { scrape_configs } = parse(readPage(`${folder}/prometheus.yml`)) as {
    scrape_configs: { job_name: string; dns_sd_configs: { names: string[]; port: number }[] }[]
  }
  const names = scrape_configs.flatMap(({ dns_sd_configs }) => dns_sd_configs.flatMap((config) => config.names))
  const manifests = globSync(`${folder}/*.kubernetes.yaml`, { cwd: projectRoot }).flatMap((file) =>
    parseAllDocuments(readPage(file)).map((document) => document.toJS()),
  )

  it('scrape gateways and workers at the port and the names that Compose and Kubernetes give them', () => {
    expect(scrape_configs.map(({ job_name }) => job_name)).toEqual(['fusion-gateway', 'fusion-worker'])
    const { services } = parse(readPage('compose.yaml'), { merge: true })
    const { metricsPort } = readConfig({ METRICS_PORT: String(services.gateway.environment.METRICS_PORT) })
    for (const { dns_sd_configs } of scrape_configs) expect(dns_sd_configs[0]?.port).toBe(metricsPort)
    expect(names).toEqual(
      ['gateway', 'worker'].flatMap((service) => services[service].networks.default.aliases as string[]),
    )
    for (const [index, component] of ['gateway', 'worker'].entries()) {
      expect(manifests.find(({ metadata }) => metadata.name === names[index])).toMatchObject({
        kind: 'Service',
        spec: {
          clusterIP: 'None',
          selector: { 'app.kubernetes.io/component': component },
          ports: [{ port: metricsPort }],
        },
      })
    }
  })

  it('are part of Compose only with the profile monitoring, and mount files that exist', () => {
    const { services, volumes } = parse(readPage('compose.yaml'), { merge: true })
    const optional = Object.entries<{ profiles?: string[] }>(services).filter(([, { profiles }]) => profiles)
    expect(optional.map(([name]) => name)).toEqual(['prometheus', 'grafana'])
    for (const [name] of optional) {
      expect(services[name].profiles).toEqual(['monitoring'])
      expect(services[name].ports[0]).toMatch(/^127\.0\.0\.1:/)
      for (const mount of services[name].volumes as string[]) {
        const [source = ''] = mount.split(':')
        expect(source.startsWith('./') ? existsSync(path.join(projectRoot, source)) : source in volumes, source).toBe(
          true,
        )
      }
    }
  })

  it('are a component of the Kubernetes manifests, with all files, as unprivileged users with limits of memory', () => {
    const { kind, resources, configMapGenerator } = parse(readPage(`${folder}/kustomization.yaml`))
    expect(kind).toBe('Component')
    const maps = configMapGenerator as { name: string; files: string[] }[]
    const listed = [...resources, ...maps.flatMap(({ files }) => files), 'kustomization.yaml', 'alerts.test.yaml']
    expect(listed.toSorted()).toEqual(
      globSync(`${folder}/*`, { cwd: projectRoot })
        .map((file) => path.basename(file))
        .toSorted(),
    )
    const deployments = manifests.filter((manifest) => manifest.kind === 'Deployment')
    const { services } = parse(readPage('compose.yaml'))
    for (const { metadata, spec } of deployments) {
      const { securityContext, containers, volumes } = spec.template.spec
      expect(securityContext).toMatchObject({ runAsNonRoot: true })
      expect(containers[0]).toMatchObject({
        image: services[metadata.name].image,
        securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
        resources: { limits: { memory: expect.any(String) } },
      })
      const files = maps.find(({ name }) => name === volumes[0].configMap.name)?.files
      for (const { name, subPath } of containers[0].volumeMounts) {
        if (name === 'config' && subPath) expect(files).toContain(subPath)
        expect(volumes.map((volume: { name: string }) => volume.name)).toContain(name)
      }
    }
    expect(deployments.map(({ metadata }) => metadata.name)).toEqual(['grafana', 'prometheus'])
  })
})
