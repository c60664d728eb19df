import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createRecordSplitter, maxRecordBytes, type RawRecord } from '../../src/transfer/record-splitter.ts'
import { runs } from '../support/runs.ts'

function split(text: string | Buffer, chunkLength = 7): RawRecord[] {
  const next = createRecordSplitter(['users', 'profiles'])
  const bytes = Buffer.from(text)
  const records: RawRecord[] = []
  for (let at = 0; at < bytes.length; at += chunkLength) records.push(...next(bytes.subarray(at, at + chunkLength)))
  return [...records, ...next()]
}

/** What a record is: its list and its index, and its JSON. */
const shown = (text: string, chunkLength?: number) =>
  split(text, chunkLength).map(({ list, index, bytes, line, fault, isRest }) => {
    const place = list === undefined ? '' : ` ${list}[${index}]`
    return `${line}${place}${isRest ? ' rest' : ''}: ${fault ?? bytes}`
  })

const key = fc.oneof(fc.constantFrom('users', 'profiles', 'id', '"', '\\', 'users[', ''), fc.string())

/** A line: any JSON, most often an object with lists of records among its keys. */
const line = fc.oneof(fc.jsonValue(), fc.dictionary(key, fc.oneof(fc.array(fc.jsonValue()), fc.jsonValue())))

/** JSON with blanks between its tokens. */
function print(value: unknown, blank: string): string {
  if (Array.isArray(value)) return `[${blank}${value.map((entry) => print(entry, blank)).join(`${blank},`)}${blank}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}${blank}:${print(inner, blank)}`)
  return `{${blank}${entries.join(`,${blank}`)}${blank}}`
}

/** The records of a line, as JSON.parse reads them. */
function recordsOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [value]
  const lists = Object.entries(value).filter(
    ([name, inner]) => ['users', 'profiles'].includes(name) && Array.isArray(inner),
  )
  const rest = { ...value, ...Object.fromEntries(lists.map(([name]) => [name, []])) }
  return [...lists.flatMap(([, list]) => list as unknown[]), rest]
}

it('splits a file into the records that JSON.parse finds, however its bytes arrive', () => {
  const property = fc.property(
    fc.array(line),
    fc.constantFrom('', ' ', '\t '),
    fc.integer({ min: 1, max: 40 }),
    fc.boolean(),
    (lines, blank, chunkLength, endsWithNewline) => {
      const text = lines.map((value) => print(value, blank)).join('\n') + (endsWithNewline ? '\n' : '')
      const read = split(text, chunkLength).filter(({ bytes }) => bytes.toString().trim() !== '')
      const values = lines.flatMap((value) => recordsOf(JSON.parse(JSON.stringify(value))))
      // Texts are compared: that takes a tenth of the time.
      const texts = read.map(({ bytes }) => JSON.stringify(JSON.parse(bytes.toString())))
      expect(texts).toEqual(values.map((value) => JSON.stringify(value)))
      expect(read.filter(({ fault }) => fault !== undefined)).toEqual([])
    },
  )
  fc.assert(property, { numRuns: runs(500) })
})

it('names the line, the list and the index of each record', () => {
  const text = '{"id":1}\n{"next":"users","users":[{"a":"]"},{"a":[1]}],"profiles":[2]}\n{"users":{"users":[3]}}'
  expect(shown(text)).toEqual([
    '1: {"id":1}',
    '2 users[0]: {"a":"]"}',
    '2 users[1]: {"a":[1]}',
    '2 profiles[0]: 2',
    '2 rest: {"next":"users","users":[],"profiles":[]}',
    '3: {"users":{"users":[3]}}',
  ])
})

it('continues after a line that ends within a list, and returns entries that are missing', () => {
  expect(shown('{"users":[1,{"a":"b\n{"users":[,2,]}\n{"users":[ ]}\n3')).toEqual([
    '1 users[0]: 1',
    '1 users[1]: is cut off: the line ends within "users"',
    '2 users[0]: ',
    '2 users[1]: 2',
    '2 users[2]: ',
    '2 rest: {"users":[]}',
    '3 rest: {"users":[]}',
    '4: 3',
  ])
})

it('keeps only the beginning of a record that is too long', () => {
  const long = Buffer.alloc(maxRecordBytes, 'x')
  // A line that is too long is imported in test/cli/import-limits.test.ts.
  const parts = ['{"users":["', long, '",2]}\n3']
  const records = split(Buffer.concat(parts.map((part) => Buffer.from(part))), 65_536)
  expect(records.map(({ fault, bytes }) => [fault, bytes.length])).toEqual([
    ['is longer than 32 MiB', 1_000],
    [undefined, 1],
    [undefined, '{"users":[]}'.length],
    [undefined, 1],
  ])
})

it('keeps no more than a record of a line, however long the line is', () => {
  const next = createRecordSplitter(['users'])
  const record = Buffer.from(`{"id":"${'x'.repeat(300)}"},`)
  expect([...next(Buffer.from('{"users":['))]).toEqual([])
  // Every record is returned with the bytes that end it, so none of them is kept.
  const counts = Array.from({ length: 2_000 }, () => [...next(record)].length)
  expect(new Set(counts)).toEqual(new Set([1]))
})
