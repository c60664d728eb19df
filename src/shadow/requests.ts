import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { OperatorError } from '@fusion-gateway/base'
import { z } from 'zod'
import type { FullRequest } from './shadow.ts'

const method = z.string().regex(/^[A-Za-z]{1,20}$/, 'must be a method, such as GET')

/** A path, or the whole URL, of which the path counts. */
const target = z.string().transform((text, context) => {
  if (text.startsWith('/')) return text
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return pathOf(new URL(text))
  context.addIssue('must be a path, such as /users, or a URL')
  return z.NEVER
})

const pathOf = ({ pathname, search }: URL) => `${pathname}${search}`

const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of a header')
const headerValue = z.union([z.string(), z.number(), z.boolean()]).transform(String)

/** A line of a file: `{"method":"GET","path":"/users","headers":{},"body":…}`. */
const lineRequest = z
  .object({
    method: method.default('GET'),
    path: target.optional(),
    url: target.optional(),
    headers: z.record(headerName, headerValue).default({}),
    body: z.unknown().optional(),
  })
  .refine(({ path, url }) => path !== undefined || url !== undefined, 'must have a path')

const harEntry = z.object({
  request: z.object({
    method,
    url: target,
    headers: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
    postData: z.object({ text: z.string().default(''), encoding: z.string().optional() }).optional(),
  }),
})

const har = z.object({ log: z.object({ entries: z.array(z.unknown()) }) })

/** The longest HAR file: it is one JSON object, which is read as a whole. */
const maxHarBytes = 256 * 1024 * 1024

/**
 * Reads the requests of a file one by one: a HAR file, or lines. A line is a JSON object with `method`, `path`,
 * `headers` and `body`, or these four separated by spaces, of which the last two can be left out: `GET /users/usr_1`,
 * `PUT /users/usr_1 {} {"name":"Ada"}`.
 *
 * @throws OperatorError that names the line if it is no request, or the file if it cannot be read
 */
export async function* readRequests(file: string): AsyncGenerator<FullRequest> {
  if (await isHar(file)) yield* readHar(file)
  else yield* readLines(file)
}

/** Whether a file is one JSON object that begins as a HAR file does. */
async function isHar(file: string): Promise<boolean> {
  const stats = await stat(file).catch(() => undefined)
  if (!stats) throw new OperatorError(`The file ${file} does not exist.`)
  if (stats.isDirectory()) throw new OperatorError(`${file} is a folder.`)
  for await (const chunk of createReadStream(file, { end: 1_023 })) {
    return /^\uFEFF?\s*\{\s*"log"\s*:/.test(String(chunk))
  }
  return false
}

async function* readHar(file: string): AsyncGenerator<FullRequest> {
  const { size } = await stat(file)
  if (size > maxHarBytes) throw new OperatorError(`${file} is larger than 256 MiB. Give its requests as lines.`)
  const { data } = har.safeParse(parse(await readFile(file, 'utf8')))
  if (!data) throw new OperatorError(`${file} is not a HAR file: it has no list log.entries.`)
  for (const [index, entry] of data.log.entries.entries()) {
    const { data: read, error } = harEntry.safeParse(entry)
    if (!read) throw new OperatorError(`${file}: entry ${index}: ${messageOf(error)}`)
    const { method, url, headers, postData } = read.request
    const body = Buffer.from(postData?.text ?? '', postData?.encoding === 'base64' ? 'base64' : 'utf8')
    // Browsers write the pseudo-headers of HTTP/2 too.
    const sent = headers.filter(({ name }) => headerName.safeParse(name).success)
    yield toRequest(
      method,
      url,
      sent.flatMap(({ name, value }) => [name, value]),
      body,
    )
  }
}

async function* readLines(file: string): AsyncGenerator<FullRequest> {
  let number = 0
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1
    const text = line.replace(/^\uFEFF/, '').trim()
    if (text === '' || text.startsWith('#')) continue
    const { data, error } = lineRequest.safeParse(text.startsWith('{') ? parse(text) : splitLine(text))
    if (!data) throw new OperatorError(`${file}:${number}: ${messageOf(error)}`)
    const body = bodyOf(data.body)
    const headers = Object.entries(data.headers).flat()
    const hasType = headers.some((name, index) => index % 2 === 0 && name.toLowerCase() === 'content-type')
    if (body.length > 0 && !hasType) headers.push('content-type', 'application/json')
    yield toRequest(data.method, data.path ?? data.url ?? '/', headers, body)
  }
}

/** `PUT /users/1 {"x-tenant":"a"} {"name":"Ada"}` ⇒ its four parts. */
function splitLine(text: string): Record<string, unknown> {
  const [, method, path, rest = ''] = /^(\S+)\s+(\S+)\s*(.*)$/s.exec(text) ?? []
  const end = rest.startsWith('{') ? endOfObject(rest) : 0
  const headers = end > 0 ? parse(rest.slice(0, end)) : undefined
  const body = rest.slice(end).trim()
  return { method, path, ...(headers !== undefined && { headers }), ...(body !== '' && { body }) }
}

/** The position after the JSON object with which a text begins. */
function endOfObject(text: string): number {
  let depth = 0
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') depth += 1
    if (token === '}') depth -= 1
    if (depth === 0) return index + token.length
  }
  return text.length
}

function bodyOf(body: unknown): Buffer {
  if (body === undefined || body === null) return Buffer.alloc(0)
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

function toRequest(method: string, target: string, headers: readonly string[], body: Buffer): FullRequest {
  return { method: method.toUpperCase(), target, headers, body }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function messageOf(error: z.ZodError | undefined): string {
  const issues = error?.issues ?? []
  return issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': ')).join('; ')
}
