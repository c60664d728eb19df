import { createLogger } from '@fusion-gateway/telemetry'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { startTestApp } from '../support/app.ts'

type Format = ReturnType<typeof readConfig>['logFormat']

/** Writes to a log and returns its lines. */
function linesOf(format: Format, write: (log: ReturnType<typeof createLogger>) => void): Record<string, unknown>[] {
  const lines: string[] = []
  const { logFormat } = readConfig({ LOG_FORMAT: format })
  write(createLogger({ logLevel: 'trace', logFormat }, { write: (line) => void lines.push(line) }))
  return lines.map((line) => JSON.parse(line))
}

const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

describe.each([
  ['json', 'level', [10, 20, 30, 40, 50, 60], { time: expect.any(Number), msg: 'text' }],
  ['gcp', 'severity', ['DEBUG', 'DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'], { time: iso, message: 'text' }],
  [
    'datadog',
    'status',
    ['debug', 'debug', 'info', 'warning', 'error', 'critical'],
    { timestamp: iso, message: 'text' },
  ],
  ['ecs', 'log.level', levels, { '@timestamp': iso, message: 'text', 'ecs.version': '8.11.0' }],
] as const)('LOG_FORMAT=%s', (format, levelKey, names, expected) => {
  it('names the level, the time and the text as the system does, and no other key of pino', () => {
    const lines = linesOf(format, (log) => {
      for (const level of levels) log.child({ requestId: 'r-1' })[level]({ tenant: 'acme' }, 'text')
    })
    expect(lines).toEqual(
      names.map((name) => ({
        [levelKey]: name,
        tenant: 'acme',
        requestId: 'r-1',
        pid: process.pid,
        hostname: expect.any(String),
        ...expected,
      })),
    )
  })
})

describe('an error and a status', () => {
  const write = (log: ReturnType<typeof createLogger>) => {
    const cause = new TypeError('no file')
    log.error({ err: new RangeError('too far', { cause }), status: 500 }, 'failed')
  }
  const stack = expect.stringMatching(/^RangeError: too far\n/)
  const cause = expect.objectContaining({ type: 'TypeError', message: 'no file' })

  it('have the names of each system', () => {
    const err = { type: 'RangeError', message: 'too far', stack, cause }
    expect(linesOf('json', write)).toMatchObject([{ status: 500, err }])
    expect(linesOf('gcp', write)).toMatchObject([{ severity: 'ERROR', status: 500, err }])
    expect(linesOf('datadog', write)).toMatchObject([
      { status: 'error', http: { status_code: 500 }, error: { kind: 'RangeError', message: 'too far', stack, cause } },
    ])
    expect(linesOf('ecs', write)).toMatchObject([
      { status: 500, error: { type: 'RangeError', message: 'too far', stack_trace: stack, cause } },
    ])
  })
})

it('a request of Datadog has its level as the status, and its HTTP status apart', async () => {
  const lines: string[] = []
  const logger = createLogger({ logLevel: 'info', logFormat: 'datadog' }, { write: (line) => void lines.push(line) })
  const app = await startTestApp({ logger })
  await app.app.inject('/health')
  await app.close()
  // The text, because a key that is twice in a line would be read once.
  const line = lines.find((text) => text.includes('GET /health')) ?? ''
  expect(line.match(/"status":/g)).toHaveLength(1)
  expect(JSON.parse(line)).toMatchObject({ status: 'info', message: 'request', http: { status_code: 200 } })
})

it('another format is refused', () => {
  expect(() => readConfig({ LOG_FORMAT: 'xml' })).toThrow('LOG_FORMAT must be one of json, gcp, datadog, ecs')
})
