import { expect, it } from 'vitest'
import { choosePreferred } from '../../src/engine/http/quality-values.ts'

it.each([
  ['gzip, br', ['br', 'gzip'], 'gzip'],
  ['gzip;q=0.5, br', ['br', 'gzip'], 'br'],
  ['gzip; Q=0.5 , BR;q=0.9', ['gzip', 'br'], 'br'],
  ['*', ['br', 'gzip'], 'br'],
  ['gzip;q=0, *', ['gzip', 'identity'], 'identity'],
  ['gzip;q=0, br;q=nonsense', ['br', 'gzip'], undefined],
  ['', ['br'], undefined],
  ['text/html, application/*;q=0.9', ['application/json', 'text/html'], 'text/html'],
  ['*/*, application/json;q=0.1', ['application/json', 'text/plain'], 'text/plain'],
  ['application/*, application/json', ['application/xml', 'application/json'], 'application/json'],
  ['text/*', ['application/json'], undefined],
] as const)('the header "%s" prefers of %j %s', (header, options, preferred) => {
  expect(choosePreferred<string>(header, options)).toBe(preferred)
})
