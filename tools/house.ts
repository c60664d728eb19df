/** Measures src and packages: `node tools/house.ts [--postgres postgresql://…/an_empty_database]`. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Command } from 'commander'
import { WebSocket } from 'ws'
import { createProgram } from '../src/cli/program.ts'
import { environment } from '../src/config.ts'
import { startGateway } from '../test/support/cli.ts'

const root = path.resolve(import.meta.dirname, '..')
const { values: options } = parseArgs({ options: { postgres: { type: 'string' } } })

/** The files of src and packages, without the console and what is generated, and their texts. */
const files = new Map(
  globSync(['src/**/*.{ts,js}', 'packages/*/src/**/*.{ts,js}'], { cwd: root })
    .filter((file) => !/\/generated\/|\.generated\.|^src\/console\//.test(file))
    .sort()
    .map((file) => [file, readFileSync(path.join(root, file), 'utf8')]),
)
const linesOf = (file: string) => (files.get(file) ?? '').split('\n').length - 1

/** Lines that know how a package works inside: its private names, files that it does not export, casts of objects. */
const internals =
  /^(?!\s*[*/]).*(\bas unknown as\b|\.prototype\b|_handle\b|from '[@\w/-]+\/(dist|lib|build|internal)\/)/

function countFiles(): void {
  const importers = new Map<string, number>()
  for (const [file, text] of files) {
    const imported = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
    const targets = imported.map(([, target = '']) => path.join(path.dirname(file), target))
    for (const target of new Set(targets)) importers.set(target, (importers.get(target) ?? 0) + 1)
  }
  const withOne = [...files.keys()].filter((file) => importers.get(file) === 1)
  const texts = [...files.values()].join('\n')
  const output = { write: () => true } as never
  const rows = {
    'lines of src and packages': [...files.keys()].reduce((sum, file) => sum + linesOf(file), 0),
    'files of src and packages': files.size,
    'files with one importer': withOne.length,
    'of at most 100 lines': withOne.filter((file) => linesOf(file) <= 100).length,
    settings: Object.keys(environment.shape).length,
    commands: countLeaves(createProgram({ stdout: output, stderr: output } as never)),
    '`as unknown as`': texts.match(/\bas unknown as\b/g)?.length ?? 0,
    'lines that reach into a package': texts.split('\n').filter((line) => internals.test(line)).length,
  }
  for (const [name, count] of Object.entries(rows)) process.stdout.write(`${String(count).padStart(7)}  ${name}\n`)
}

const countLeaves = ({ commands }: Pick<Command, 'commands'>): number =>
  commands.reduce((sum, command) => sum + (command.commands.length > 0 ? countLeaves(command) : 1), 0)

interface Script {
  readonly url: string
  readonly scriptId: string
  readonly functions: readonly {
    readonly ranges: readonly [{ readonly startOffset: number; readonly endOffset: number; readonly count: number }]
  }[]
}

async function inspect(url: string) {
  const socket = new WebSocket(url)
  await once(socket, 'open')
  const waiting: PromiseWithResolvers<unknown>[] = []
  socket.on('message', (message) => {
    const { id, result, error } = JSON.parse(String(message))
    if (error) waiting[id]?.reject(new Error(error.message))
    else waiting[id]?.resolve(result)
  })
  return {
    send<Result>(method: string, params: object = {}): Promise<Result> {
      const answered = Promise.withResolvers<unknown>()
      socket.send(JSON.stringify({ id: waiting.push(answered) - 1, method, params }))
      return answered.promise as Promise<Result>
    },
  }
}

const fileOf = ({ url }: Pick<Script, 'url'>) => path.relative(root, url.replace('file://', ''))

/** The files in the order of their first call in `run`: a breakpoint in each function notes its file, and goes on. */
async function order(inspector: Awaited<ReturnType<typeof inspect>>, ran: readonly Script[], run: () => Promise<void>) {
  await inspector.send('Debugger.enable')
  for (const script of ran) {
    const { scriptId } = script
    const { scriptSource } = await inspector.send<{ scriptSource: string }>('Debugger.getScriptSource', { scriptId })
    for (const { ranges } of script.functions) {
      const [start, end] = [ranges[0].startOffset, ranges[0].endOffset].map((offset) => {
        const before = scriptSource.slice(0, offset).split('\n')
        return { scriptId, lineNumber: before.length - 1, columnNumber: before.at(-1)?.length ?? 0 }
      })
      const { locations } = await inspector.send<{ locations: object[] }>('Debugger.getPossibleBreakpoints', {
        start,
        end,
        restrictToFunction: true,
      })
      const condition = `globalThis.calledFiles?.add(${JSON.stringify(fileOf(script))}), false`
      await inspector.send('Debugger.setBreakpoint', { location: locations[0], condition }).catch(() => undefined)
    }
  }
  await inspector.send('Runtime.evaluate', { expression: 'globalThis.calledFiles = new Set()' })
  await run()
  const expression = 'JSON.stringify([...globalThis.calledFiles])'
  const { result } = await inspector.send<{ result: { value: string } }>('Runtime.evaluate', { expression })
  await inspector.send('Debugger.disable')
  return JSON.parse(result.value) as string[]
}

const requests: Record<string, (url: string, key: string, id: string) => Promise<Response>> = {
  'user → accounts → profile': (url, key, id) =>
    post(url, key, `{ user(id: "${id}") { id name accounts { id platform profile { id username } } } }`),
  'GET /users/{id}': (url, key, id) => fetch(`${url}/users/${id}`, { headers: { 'x-api-key': key } }),
  createUser: (url, key) =>
    post(
      url,
      key,
      'mutation { createUser(input: { name: "Ada", email: "a@example.com", phone: "1" }) { user { id } } }',
    ),
}

const post = (url: string, key: string, query: string) =>
  fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ query }),
  })

/** The functions of a script that were called in this window and in those before. */
function calledAlso(script: Script, window: number, before: readonly Script[]): Script[] {
  const known = before.find(({ scriptId }) => scriptId === script.scriptId)?.functions
  const isKnown = (start: number) => window === 0 || known?.some(({ ranges: [range] }) => range.startOffset === start)
  const functions = script.functions.filter(({ ranges: [{ count, startOffset }] }) => count > 0 && isKnown(startOffset))
  return functions.length > 0 ? [{ ...script, functions }] : []
}

/** Starts a gateway, and prints which files and functions of src run for one request, after some that warm it up. */
async function measureRequests(database: string, { KEY, ...env }: Record<string, string>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-house-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  // A repeated query would be served from memory.
  const gateway = await startGateway({ DATA_DIR: folder, RESPONSE_CACHE_MIB: '0', ...env }, [], {
    options: ['--inspect=127.0.0.1:0'],
  })
  try {
    const inspector = await inspect(/ws:\/\/\S+/.exec(gateway.output())?.[0] ?? '')
    const url = gateway.address
    const key = KEY ?? readFileSync(path.join(folder, 'demo-key'), 'utf8').trim()
    const { data } = await (await post(url, key, '{ users(first: 1) { nodes { id } } }')).json()
    await inspector.send('Profiler.enable')
    await inspector.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    for (const [name, request] of Object.entries(requests)) {
      const run = async () => {
        const response = await request(url, key, data.users.nodes[0].id)
        const text = await response.text()
        if (!response.ok || text.includes('"errors"')) throw new Error(`${name}: ${response.status} ${text}`)
      }
      for (let warm = 0; warm < 20; warm += 1) await run()
      // What also runs without the request, such as timers, does not run in each window.
      let ran: Script[] = []
      for (let window = 0; window < 5; window += 1) {
        await inspector.send('Profiler.takePreciseCoverage')
        await run()
        const { result } = await inspector.send<{ result: Script[] }>('Profiler.takePreciseCoverage')
        ran = result.filter((script) => files.has(fileOf(script))).flatMap((script) => calledAlso(script, window, ran))
      }
      const functions = ran.reduce((sum, script) => sum + script.functions.length, 0)
      process.stdout.write(`\n${database}, ${name}: ${ran.length} files, ${functions} functions\n`)
      if (name !== Object.keys(requests)[0]) continue
      for (const file of await order(inspector, ran, run)) process.stdout.write(`  ${file}\n`)
    }
  } finally {
    await gateway.stop('SIGKILL')
  }
}

countFiles()
await measureRequests('embedded', { DATABASE_URL: '' })
if (options.postgres) {
  const env = { ...process.env, DATABASE_URL: options.postgres }
  const fusion = (...args: string[]) =>
    execFileSync(process.execPath, [path.join(root, 'bin/fusion.js'), ...args], { env, encoding: 'utf8' })
  fusion('migrate', 'deploy')
  fusion('tenants', 'create', 'House')
  fusion('seed', '--tenant', 'House', '--users', '20')
  const [key = ''] = /fus_\w+/.exec(fusion('keys', 'create', '--tenant', 'House')) ?? []
  await measureRequests('PostgreSQL', { DATABASE_URL: options.postgres, KEY: key })
}
