// A load generator in a process of its own. It sends requests at a steady rate, whether or not earlier ones are
// answered, and measures each latency from the time when the request was due. Prints the result as JSON.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

const { port, ask, key, rate, seconds, connections } = JSON.parse(readFileSync(0, 'utf8'))
const { method = 'GET', path, body } = ask
const text = body ? JSON.stringify(body) : ''
const request = Buffer.from(
  [
    `${method} ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
    ...(key ? [`x-api-key: ${key}`] : []),
    '',
    text,
  ].join('\r\n'),
)

const idle = []
const waiting = []
const latencies = []
let failures = 0

function open() {
  const socket = connect(port, '127.0.0.1').setNoDelay()
  let received = Buffer.alloc(0)
  let due = 0
  socket.send = (at) => {
    due = at
    socket.write(request)
  }
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const end = received.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = received.toString('latin1', 0, end)
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
    if (!(received.length >= end + 4 + length)) return
    if (!/^HTTP\/1.1 2/.test(head)) failures += 1
    latencies.push(performance.now() - due)
    received = Buffer.alloc(0)
    const next = waiting.shift()
    if (next === undefined) idle.push(socket)
    else socket.send(next)
  })
  socket.once('connect', () => idle.push(socket))
  return socket
}

const sockets = Array.from({ length: connections }, open)
await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))

const startedAt = performance.now()
const total = Math.floor(rate * seconds)
let sent = 0
await new Promise((resolve) => {
  const tick = () => {
    const now = performance.now()
    while (sent < total && startedAt + (sent * 1000) / rate <= now) {
      sent += 1
      const socket = idle.pop()
      if (socket) socket.send(now)
      else waiting.push(now)
    }
    if (latencies.length >= total) resolve()
    else setTimeout(tick, 1)
  }
  tick()
})
for (const socket of sockets) socket.destroy()
latencies.sort((one, other) => one - other)
const at = (share) => latencies[Math.floor(latencies.length * share)]
process.stdout.write(JSON.stringify({ p50: at(0.5), p99: at(0.99), failures }))
