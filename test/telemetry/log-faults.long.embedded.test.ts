import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { connect, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { freePort } from '../support/cluster.ts'
import { createDataDir } from '../support/data-dir.ts'
import { readLog } from '../support/processes.ts'

const root = path.resolve(import.meta.dirname, '../..')
let folder: string

/** A gateway that does not stop by itself takes longer. */
const { shutdownMilliseconds } = readConfig({})

/** Filling the buffer takes thousands of requests, and another test file may use the same core. */
const fillingMilliseconds = 180_000

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-log-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Creates a pipe that is not read until the test reads it. */
function createPipe(name: string) {
  const file = path.join(folder, name)
  spawnSync('mkfifo', [file])
  const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(file, 'w')
  return { reader, writer, read: () => new Socket({ fd: reader, readable: true, writable: false }) }
}

/** Starts the fixture that logs lines. */
function logLines(stdout: number, count: number, length: number, end = 'return') {
  // A small heap, collected by the thread that fills it, so that the garbage of a busy machine does not count as memory
  // of the log.
  const options = ['--max-old-space-size=48', '--single-threaded-gc']
  const args = [...options, 'test/fixtures/log-lines.ts', String(count), String(length), end]
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', stdout, 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** A gateway on the embedded database that logs to a descriptor. */
async function startGateway(stdout: number) {
  const dataDir = createDataDir()
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  const child = spawn(process.execPath, ['src/cli.ts', 'serve'], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: '', DATA_DIR: dataDir, PORT: String(port), LOG_LEVEL: 'info' },
    stdio: ['ignore', stdout, 'inherit'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(dataDir, { recursive: true })
  })
  const statusOf = (route: string) =>
    fetch(address + route).then(
      ({ status }) => status,
      () => 0,
    )
  await expect.poll(() => statusOf('/ready'), { timeout: 50_000 }).toBe(200)
  return {
    statusOf,
    /** The metric of dropped lines. */
    async dropped() {
      const metrics = await (await fetch(`${address}/metrics`)).text()
      return Number(/^fusion_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1])
    },
    /** Sends requests, each with a long line in the log. */
    async send(count: number) {
      const request = `GET /${'x'.repeat(100)} HTTP/1.1\r\nhost: x\r\nx-request-id: ${'i'.repeat(128)}\r\n\r\n`
      const socket = connect(port, '127.0.0.1')
      for (let sent = 0; sent < count; sent += 20) {
        socket.write(request.repeat(20))
        let responses = ''
        while (responses.split('HTTP/1.1 ').length <= 20) responses += (await once(socket, 'data'))[0]
      }
      socket.destroy()
    },
    async stop() {
      const started = performance.now()
      child.kill('SIGTERM')
      const [code] = await once(child, 'exit')
      return { code, milliseconds: performance.now() - started }
    },
  }
}

/** The line about dropped lines. */
const droppedLine = (log: string) => readLog(log).find(({ msg }) => msg === 'log lines were dropped')

/** Sends requests until the log drops lines, while the gateway is healthy. */
async function sendUntilDropped({ send, dropped, statusOf }: Awaited<ReturnType<typeof startGateway>>): Promise<void> {
  while ((await dropped()) === 0) await send(2_000)
  expect(await statusOf('/health')).toBe(200)
  expect(await statusOf('/ready')).toBe(200)
}

it(
  'a gateway serves while nobody reads its log, names the dropped lines to the next reader, and stops',
  async () => {
    const pipe = createPipe('unread')
    const gateway = await startGateway(pipe.writer)
    closeSync(pipe.writer)
    await sendUntilDropped(gateway)
    let log = ''
    const stream = pipe.read().on('data', (chunk) => {
      log += chunk
    })
    await expect.poll(() => droppedLine(log), { timeout: 20_000 }).toMatchObject({ level: 40 })
    await expect.poll(gateway.dropped, { timeout: 5_000 }).toBe(droppedLine(log)?.['dropped'])
    stream.pause()
    await gateway.send(2_000)
    const { code, milliseconds } = await gateway.stop()
    expect(code).toBe(0)
    expect(milliseconds).toBeLessThan(shutdownMilliseconds)
    stream.destroy()
  },
  fillingMilliseconds,
)

it('a gateway whose reader has gone serves and stops', async () => {
  const pipe = createPipe('broken')
  const gateway = await startGateway(pipe.writer)
  closeSync(pipe.writer)
  closeSync(pipe.reader)
  await gateway.send(2_000)
  expect(await gateway.statusOf('/health')).toBe(200)
  expect((await gateway.stop()).code).toBe(0)
})

it('a gateway whose log cannot be written at all starts, serves and stops', async () => {
  const full = openSync('/dev/full', 'w')
  const gateway = await startGateway(full)
  closeSync(full)
  await gateway.send(2_000)
  expect(await gateway.statusOf('/health')).toBe(200)
  const { code, milliseconds } = await gateway.stop()
  expect(code).toBe(0)
  expect(milliseconds).toBeLessThan(shutdownMilliseconds)
})

it(
  'a gateway serves while the disk of its log is full, and names the dropped lines when it has space',
  async ({ skip }) => {
    const disk = path.join(folder, 'disk')
    mkdirSync(disk)
    const mount = (...args: string[]) => spawnSync('mount', args).status === 0
    // Only root can mount.
    if (!mount('-t', 'tmpfs', '-o', 'size=1m', 'none', disk)) skip()
    onTestFinished(() => void spawnSync('umount', ['--lazy', disk]))
    const file = path.join(disk, 'log')
    const stdout = openSync(file, 'w')
    const gateway = await startGateway(stdout)
    closeSync(stdout)
    await sendUntilDropped(gateway)
    expect(statfsSync(disk).bavail).toBe(0)
    mount('-o', 'remount,size=64m', disk)
    const log = () => readFileSync(file, 'utf8')
    await expect.poll(() => droppedLine(log()), { timeout: 20_000 }).toMatchObject({ level: 40 })
    await expect.poll(gateway.dropped, { timeout: 5_000 }).toBe(droppedLine(log())?.['dropped'])
    expect((await gateway.stop()).code).toBe(0)
    const lines = log().trim().split('\n')
    expect(lines.filter((line) => line.startsWith('{') && !line.endsWith('}'))).toEqual([])
    expect(lines.at(-1)).toContain('"msg":"stopped"')
  },
  fillingMilliseconds,
)

it('a process whose log is not read takes a bounded amount of memory and ends, also after another set the pipe to blocking mode', async () => {
  const pipe = createPipe('blocking')
  const logging = logLines(pipe.writer, 300_000, 2_000)
  // Node does that when it ends.
  const other = logLines(pipe.writer, 0, 1)
  closeSync(pipe.writer)
  const [memory, [code]] = await Promise.all([
    text(logging.stderr as Readable),
    once(logging, 'exit'),
    once(other, 'exit'),
  ])
  expect(code).toBe(0)
  // For 300 MB of lines.
  expect(Number.parseInt(memory, 10)).toBeLessThan(180)
  closeSync(pipe.reader)
})

it.each([
  ['return', 0],
  ['exit', 3],
  ['throw', 1],
])('a process that ends by %s has written all lines', async (end, code) => {
  const file = path.join(folder, end)
  const stdout = openSync(file, 'w')
  const pipe = createPipe(`${end}-pipe`)
  const children = [stdout, pipe.writer].map((sink) => logLines(sink, 5_000, 300, end))
  closeSync(pipe.writer)
  closeSync(stdout)
  const ended = Promise.all(children.map((child) => once(child, 'exit')))
  const logs = [await text(pipe.read()), (await ended) && readFileSync(file, 'utf8')]
  expect((await ended).map(([status]) => status)).toEqual([code, code])
  const numbers = logs.map((log) => readLog(log).map(({ number }) => Number(number)))
  const all = Array.from({ length: 5_000 }, (_, number) => number)
  expect(numbers).toEqual([all, all])
})

it('lines of several processes do not mix on a pipe whose reader is slow', async () => {
  const pipe = createPipe('shared')
  for (let number = 0; number < 3; number += 1) logLines(pipe.writer, 2_000, 3_900)
  closeSync(pipe.writer)
  let log = ''
  for await (const chunk of pipe.read()) {
    log += chunk
    await setTimeout(5)
  }
  const lines = log.trim().split('\n')
  expect(lines.filter((line) => !/^\{"level":30,[^{}]*\}$/.test(line))).toEqual([])
  // The reader may be too slow for the last lines, for which a process waits a second.
  expect(lines.length).toBeGreaterThan(3_000)
})
