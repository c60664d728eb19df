import { stripVTControlCharacters } from 'node:util'
import { createLogger, createReadableLog } from '@fusion-gateway/telemetry'
import { expect, it } from 'vitest'

/** Writes to a log and returns the lines that a person reads. */
function linesOf(write: (log: ReturnType<typeof createLogger>) => void): string {
  let text = ''
  write(createLogger({ logLevel: 'info' }, createReadableLog({ write: (line) => (text += line) })))
  return stripVTControlCharacters(text)
}

it('shows a request in one line, with the fields that have no place in its text', () => {
  const request = { tenant: 'acme', requestId: 'r-1', route: '/users', status: 200, durationMs: 3, sql: 1 }
  expect(linesOf((log) => log.info(request, 'request'))).toMatch(
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: request \/users 200, 3 ms, 1 SQL \{"requestId":"r-1"\}\n$/,
  )
})

it('shows the stack of an error and of its cause below the message', () => {
  const err = new Error('cannot read', { cause: new TypeError('no file') })
  const lines = linesOf((log) => log.error({ err }, 'failed')).split('\n')
  expect(lines[0]).toMatch(/ERROR: failed$/)
  expect(lines[1]).toBe('    Error: cannot read')
  expect(lines.some((line) => line === '    TypeError: no file')).toBe(true)
})
