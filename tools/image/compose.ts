import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'
import { projectRoot } from './image.ts'

/** A service of compose.yaml that runs the image. */
export interface GatewayService {
  /** Undefined for the command of the image. */
  readonly command: readonly string[] | undefined
  readonly env: Readonly<Record<string, string>>
  readonly replicas: number
  readonly graceMilliseconds: number
}

/** What compose.yaml says. */
export interface Compose {
  readonly postgres: { readonly user: string; readonly password: string; readonly database: string }
  readonly migrate: GatewayService
  readonly gateway: GatewayService
  readonly worker: GatewayService
}

interface Service {
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, unknown>>
  readonly deploy?: { readonly replicas: number }
  readonly stop_grace_period?: string
}

/** Reads compose.yaml. */
export function readCompose(): Compose {
  const file = readFileSync(path.join(projectRoot, 'compose.yaml'), 'utf8')
  const { services } = parse(file, { merge: true }) as { services: Record<string, Service> }
  const { POSTGRES_USER: user, POSTGRES_PASSWORD: password, POSTGRES_DB: database } = envOf(services['postgres'])
  if (!user || !password || !database) throw new Error('compose.yaml names no user, password or database')
  const read = (name: string) => readService(services[name] ?? {})
  return {
    postgres: { user, password, database },
    migrate: read('migrate'),
    gateway: read('gateway'),
    worker: read('worker'),
  }
}

function readService(service: Service): GatewayService {
  return {
    command: service.command,
    env: envOf(service),
    replicas: service.deploy?.replicas ?? 1,
    // Compose kills after 10 s by default.
    graceMilliseconds: Number.parseInt(service.stop_grace_period ?? '10s', 10) * 1_000,
  }
}

function envOf(service: Service | undefined): Record<string, string> {
  // Compose replaces a variable that is not set: `${NAME:-}` is empty.
  const withoutUnset = (value: unknown) => String(value).replace(/^\$\{\w+:-\}$/, '')
  const environment = Object.entries(service?.environment ?? {})
  return Object.fromEntries(environment.map(([name, value]) => [name, withoutUnset(value)]))
}
