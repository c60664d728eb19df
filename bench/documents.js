import { memoryOf } from './machine.js'

const atOnce = 32

/** Case (o): the growth of memory, in MiB, while a server gets so many distinct documents. */
export async function measureDocuments({ servers, names, documents, userId }) {
  const rows = []
  for (const name of names) {
    const { port, child, key } = servers[name]
    const before = memoryOf(child.pid)
    let next = 0
    const send = async () => {
      while (next < documents) {
        next += 1
        const query = `{ user(id: "${userId}") { id field${next}: name } }`
        const headers = { 'content-type': 'application/json', ...(key && { 'x-api-key': key }) }
        const init = { method: 'POST', headers, body: JSON.stringify({ query }) }
        await (await fetch(`http://127.0.0.1:${port}/graphql`, init)).arrayBuffer()
      }
    }
    await Promise.all(Array.from({ length: atOnce }, send))
    rows.push({ name, before, growth: memoryOf(child.pid) - before })
  }
  return rows
}

/** The table of case (o). */
export function documentsLines(rows) {
  return [
    '| server | MiB before | growth in MiB |',
    '|---|---|---|',
    ...rows.map(({ name, before, growth }) => `| ${name} | ${before.toFixed(0)} | ${growth.toFixed(0)} |`),
  ]
}
