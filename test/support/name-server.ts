import { createSocket } from 'node:dgram'

/** A name server on the loopback interface. */
export interface NameServer {
  readonly address: string
  /** The names of the queries that it has received. */
  readonly queried: Set<string>
  close(): void
}

/**
 * Starts a name server.
 *
 * @param addressesOf the IPv4 addresses of a name; undefined if it never answers
 */
export async function startNameServer(
  addressesOf: (name: string) => readonly string[] | undefined,
): Promise<NameServer> {
  const queried = new Set<string>()
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const labels: string[] = []
    let at = 12
    for (let length = query[at]; length; length = query[at]) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length))
      at += length + 1
    }
    const name = labels.join('.').toLowerCase()
    queried.add(name)
    const addresses = addressesOf(name)
    if (!addresses) return
    const isForIPv4 = query.readUInt16BE(at + 1) === 1
    const answers = (isForIPv4 ? addresses : []).map((one) =>
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...one.split('.').map(Number)]),
    )
    // A response without an error, to one question, with so many answers.
    const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, answers.length, 0, 0, 0, 0])
    socket.send(Buffer.concat([header, query.subarray(12, at + 5), ...answers]), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return { address: `127.0.0.1:${socket.address().port}`, queried, close: () => socket.close() }
}
