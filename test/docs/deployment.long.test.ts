import { globSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import packageJson from '../../package.json' with { type: 'json' }
import { environment, readConfig } from '../../src/config.ts'
import { fusion } from '../support/cli.ts'
import { type Cluster, canCreateClusters, createCluster } from '../support/cluster.ts'
import { projectRoot, readPage } from '../support/docs.ts'
import { run } from '../support/postgresql.ts'

// No container engine and no Kubernetes is needed: these are the fields on which a deployment depends.

/** The variables that the gateway reads. */
const variables = Object.keys(environment.shape)

/** The part of a Kubernetes object that the tests look at. */
interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: Record<string, never> & { template: { metadata: { labels: object }; spec: Pod } }
}

interface Pod {
  readonly terminationGracePeriodSeconds?: number
  readonly securityContext: object
  readonly containers: readonly [Container]
}

interface Container {
  readonly image: string
  readonly args: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value: string }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly securityContext: object
  readonly resources: object
}

const manifests = globSync('deploy/kubernetes/*.yaml', { cwd: projectRoot }).flatMap((file) =>
  parseAllDocuments(readPage(file)).map((document) => {
    expect(document.errors, file).toEqual([])
    return document.toJS() as Manifest
  }),
)

const find = (kind: string, name = 'fusion-gateway') =>
  manifests.find((manifest) => manifest.kind === kind && manifest.metadata?.name === name) as Manifest

const podOf = ({ spec }: Manifest) => spec.template.spec

const workloads = [
  find('Deployment'),
  find('Deployment', 'fusion-gateway-worker'),
  find('Job', 'fusion-gateway-migrate'),
]

describe('the Kubernetes manifests', () => {
  it('are all in the kustomization', () => {
    const { resources } = parse(readPage('deploy/kubernetes/kustomization.yaml')) as { resources: string[] }
    const files = globSync('deploy/kubernetes/*.yaml', { cwd: projectRoot }).map((file) => path.basename(file))
    expect([...resources, 'kustomization.yaml'].toSorted()).toEqual(files.toSorted())
  })

  it('run the commands as an unprivileged user who can write nothing, with limits of memory and the secret', () => {
    const commands = workloads.map((workload) => podOf(workload).containers[0].args)
    expect(commands).toEqual([['serve'], ['work'], ['migrate', 'deploy']])
    for (const workload of workloads) {
      const { securityContext, containers } = podOf(workload)
      expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 })
      expect(containers).toEqual([
        expect.objectContaining({
          image: 'fusion-gateway',
          envFrom: [{ secretRef: { name: 'fusion-gateway' } }],
          securityContext: expect.objectContaining({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false }),
          resources: expect.objectContaining({ limits: { memory: expect.any(String) } }),
        }),
      ])
      for (const { name } of containers[0].env ?? []) expect(variables).toContain(name)
    }
  })

  it('probe the gateway, and give it time to finish', () => {
    const pod = podOf(find('Deployment'))
    const [container] = pod.containers
    const http = (route: string) => expect.objectContaining({ httpGet: { path: route, port: 'http' } })
    expect(container).toMatchObject({
      startupProbe: http('/ready'),
      livenessProbe: http('/health'),
      readinessProbe: http('/ready'),
    })
    const env = Object.fromEntries(container.env?.map(({ name, value }) => [name, value]) ?? [])
    const { drainMilliseconds, shutdownMilliseconds, metricsPort } = readConfig({
      ...env,
      DATABASE_URL: 'postgresql://x@y/z',
    })
    const seconds = (drainMilliseconds + shutdownMilliseconds) / 1_000
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(seconds)
    expect(container.ports).toEqual([
      { name: 'http', containerPort: 4000 },
      { name: 'metrics', containerPort: metricsPort },
    ])
  })

  it('select the pods of the gateway', () => {
    const labels = { 'app.kubernetes.io/component': 'gateway' }
    expect(find('Deployment').spec.template.metadata.labels).toEqual(labels)
    expect(find('Service').spec).toMatchObject({ selector: labels, ports: [{ targetPort: 'http' }] })
    expect(find('PodDisruptionBudget').spec).toMatchObject({ maxUnavailable: 1, selector: { matchLabels: labels } })
    const target = { kind: 'Deployment', name: 'fusion-gateway' }
    expect(find('HorizontalPodAutoscaler').spec).toMatchObject({ scaleTargetRef: target, minReplicas: 2 })
    expect(find('NetworkPolicy').spec).toMatchObject({
      podSelector: { matchExpressions: [{ operator: 'In', values: ['gateway', 'worker', 'migrate'] }] },
      policyTypes: ['Ingress', 'Egress'],
    })
  })
})

describe('compose.yaml', () => {
  const { services } = parse(readPage('compose.yaml'), { merge: true }) as { services: Record<string, Service> }
  interface Service {
    readonly command?: readonly string[]
    readonly deploy?: { readonly replicas: number }
    readonly depends_on?: Record<string, { readonly condition: string }>
    readonly environment?: Record<string, unknown>
    readonly read_only?: boolean
    readonly stop_grace_period?: string
    readonly restart?: string
  }

  it('migrates once, and starts two gateways and a worker afterwards', () => {
    const { migrate, gateway, worker } = services
    expect(migrate).toMatchObject({
      command: ['migrate', 'deploy'],
      restart: 'on-failure',
      depends_on: { postgres: { condition: 'service_healthy' } },
    })
    expect(gateway?.deploy?.replicas).toBe(2)
    expect(worker?.command).toEqual(['work'])
    for (const service of [gateway, worker]) {
      expect(service?.depends_on).toMatchObject({ migrate: { condition: 'service_completed_successfully' } })
      const { drainMilliseconds, shutdownMilliseconds } = readConfig({ DATABASE_URL: 'postgresql://x@y/z' })
      // Workers do not drain.
      const least = shutdownMilliseconds + (service === gateway ? drainMilliseconds : 0)
      expect(Number.parseInt(service?.stop_grace_period ?? '', 10) * 1_000).toBeGreaterThan(least)
    }
    for (const service of [migrate, gateway, worker]) {
      expect(service?.read_only).toBe(true)
      // Compose replaces a variable that is not set: `${NAME:-}` is empty.
      const withoutUnset = (value: unknown) => String(value).replace(/^\$\{\w+:-\}$/, '')
      const env = Object.entries(service?.environment ?? {}).map(([name, value]) => [name, withoutUnset(value)])
      expect(env.every(([name = '']) => variables.includes(name))).toBe(true)
      expect(readConfig(Object.fromEntries(env)).redisUrl).toBe('redis://redis:6379')
    }
  })
})

describe.skipIf(!canCreateClusters)('a server with the role, password and database of a documented URL', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await createCluster()
    await run(cluster.adminUrl, `CREATE ROLE fusion LOGIN PASSWORD 'fusion'; ALTER DATABASE fusion OWNER TO fusion`)
  })
  afterAll(() => cluster?.remove())

  it.each(['compose.yaml', 'deploy/kubernetes/kustomization.yaml'])('%s', async (file) => {
    const url = new URL(/postgresql:[^'\s]+/.exec(readPage(file))?.[0] ?? '')
    url.host = new URL(cluster.url).host
    const env = { DATABASE_URL: url.href }
    expect(await fusion(['migrate', 'deploy'], env)).toMatchObject({ code: 0, stderr: '' })
    expect(await fusion(['tenants', 'list'], env)).toMatchObject({ code: 0, stderr: '' })
    url.password = 'another'
    expect(await fusion(['tenants', 'list'], { DATABASE_URL: url.href })).toMatchObject({ code: 1 })
  })
})

describe('the Dockerfile', () => {
  const lines = readPage('deploy/image/Dockerfile').split('\n')
  const value = (instruction: string) => lines.filter((line) => line.startsWith(`${instruction} `)).at(-1) ?? ''

  it('builds with the script that npm run check -- image runs, on the version of Node that the project uses', () => {
    const [major] = packageJson.dependencies.node.split('.')
    expect(lines.filter((line) => line.startsWith('FROM '))).toEqual([
      `FROM node:${major}-slim AS build`,
      `FROM node:${major}-slim`,
    ])
    expect(lines.some((line) => line.startsWith('RUN deploy/image/build.sh /gateway'))).toBe(true)
    expect(statSync(path.join(projectRoot, 'deploy/image/build.sh')).mode & 0o111).toBe(0o111)
  })

  it('starts the gateway as process 1 of an unprivileged user, with a health check', () => {
    expect([value('USER'), value('ENTRYPOINT'), value('CMD')]).toEqual([
      'USER 1000:1000',
      'ENTRYPOINT ["node", "bin/fusion.js"]',
      'CMD ["serve"]',
    ])
    expect(lines.join('\n')).toMatch(/HEALTHCHECK [^\n]*\\\n +CMD \["node", "--eval", ".*\/health/)
    const ignored = readFileSync(path.join(projectRoot, '.dockerignore'), 'utf8').split('\n')
    expect(ignored).toEqual(
      expect.arrayContaining(['**/node_modules', '.git', 'data', 'packages/database/src/generated']),
    )
    // Passwords, and the backups and exports that docs/operating.md writes.
    expect(ignored).toEqual(expect.arrayContaining(['**/.env*', '**/*.tar.gz', '**/*.ndjson']))
  })
})
