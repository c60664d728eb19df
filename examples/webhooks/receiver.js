// node receiver.js: prints the events whose signatures are right. WEBHOOK_SECRET is the secret of the webhook.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const key = Buffer.from((process.env.WEBHOOK_SECRET ?? '').replace('whsec_', ''), 'base64')
if (key.length === 0) throw new Error('Set WEBHOOK_SECRET.')

function isSigned({ 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures = '' }, body) {
  const isRecent = Math.abs(Date.now() / 1_000 - Number(time)) < 300
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64')}`)
  const given = signatures.split(' ').map((signature) => Buffer.from(signature))
  return isRecent && given.some((one) => one.length === expected.length && timingSafeEqual(one, expected))
}

createServer(async (request, response) => {
  const body = await text(request).catch(() => '')
  const status = isSigned(request.headers, body) ? 204 : 401
  // An event can come twice, with the same webhook-id. Store it before you respond, and do the work afterwards.
  if (status === 204) process.stdout.write(`${request.headers['webhook-id']} ${JSON.parse(body).type}\n`)
  response.writeHead(status).end()
}).listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => process.stdout.write('ready\n'))
