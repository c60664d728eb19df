import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import { LRUCache } from 'lru-cache'

/** Looks up a host of a tenant. Rejects with ENOTFOUND, or EAI_AGAIN if its name servers do not respond in time. */
export type Lookup = (host: string) => Promise<readonly LookupAddress[]>

/** How long a lookup may take, with all its queries: less than a connection may take. */
const limitMilliseconds = 3_000

/** A query whose answer is lost is sent again after a second. */
const queries = { timeout: 1_000, tries: 3 }

/** Failures that are remembered, and for how long: less than the first delay of deliveries and jobs that failed. */
const failures = { max: 1_000, ttl: 5_000 }

const maxSearchDomains = 6

/**
 * Creates the lookup of tenants' hosts. `dns.lookup` runs in two threads of the process, where the hosts of a tenant
 * whose name servers are silent would keep all others waiting: other tenants' hosts and the operator's, such as the
 * database. This lookup sends queries itself, on sockets of its own for each host, and has a time limit. Like
 * `dns.lookup`, it reads /etc/hosts, and the search domains of /etc/resolv.conf.
 *
 * @param nameServers instead of those of /etc/resolv.conf: `127.0.0.1:5353`
 */
export function createLookup(nameServers?: readonly string[]): Lookup {
  const readHosts = createFileReader('/etc/hosts', parseHosts)
  const readSearch = createFileReader('/etc/resolv.conf', parseSearch)
  const running = new Map<string, Promise<readonly LookupAddress[]>>()
  const failed = new LRUCache<string, Error>(failures)

  async function find(host: string): Promise<readonly LookupAddress[]> {
    const name = host.replace(/\.$/, '').toLowerCase()
    const known = (await readHosts()).get(name) ?? (/(^|\.)localhost$/.test(name) ? loopback : undefined)
    if (known) return known
    const resolver = new Resolver(queries)
    if (nameServers) resolver.setServers(nameServers)
    let isOver = false
    const timer = setTimeout(() => {
      isOver = true
      resolver.cancel()
    }, limitMilliseconds)
    let code = 'ENOTFOUND'
    try {
      for (const candidate of candidatesOf(host, name, await readSearch())) {
        const answers = await Promise.allSettled([
          resolver.resolve4(candidate).then((found) => found.map((address) => ({ address, family: 4 }))),
          resolver.resolve6(candidate).then((found) => found.map((address) => ({ address, family: 6 }))),
        ])
        const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
        if (addresses.length > 0) return addresses
        if (answers.some((answer) => answer.status === 'rejected' && !isMissing(answer.reason))) code = 'EAI_AGAIN'
        if (isOver) break
      }
    } finally {
      clearTimeout(timer)
    }
    throw Object.assign(new Error(`getaddrinfo ${code} ${host}`), { code, hostname: host })
  }

  return (host) => {
    const failure = failed.get(host)
    if (failure) return Promise.reject(failure)
    let addresses = running.get(host)
    if (!addresses) {
      addresses = find(host).finally(() => running.delete(host))
      running.set(host, addresses)
      addresses.catch((error: Error) => void failed.set(host, error))
    }
    return addresses
  }
}

const loopback = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** Whether an error of a query says that the name has no such address. */
function isMissing(error: NodeJS.ErrnoException): boolean {
  return ['ENOTFOUND', 'ENODATA', 'EBADNAME'].includes(error.code ?? '')
}

interface Search {
  readonly domains: readonly string[]
  /** A name with fewer dots is looked up in the domains first. */
  readonly dots: number
}

/** The names to query for a host, in this order. A host that ends with a dot is complete. */
function candidatesOf(host: string, name: string, { domains, dots }: Search): readonly string[] {
  if (host.endsWith('.')) return [name]
  const inDomains = domains.map((domain) => `${name}.${domain}`)
  return name.split('.').length > dots ? [name, ...inDomains] : [...inDomains, name]
}

/** @see https://man7.org/linux/man-pages/man5/resolv.conf.5.html */
function parseSearch(text: string): Search {
  let domains: readonly string[] = []
  let dots = 1
  for (const [word, ...values] of wordsOfLines(text)) {
    // The last of several lines counts.
    if (word === 'search' || word === 'domain') {
      domains = values.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== '')
    }
    if (word === 'options') dots = Number(values.findLast((value) => /^ndots:\d+$/.test(value))?.slice(6) ?? dots)
  }
  return { domains: domains.slice(0, maxSearchDomains), dots }
}

/** The addresses of names. Those with a zone, which names an interface of this machine, are left out. */
function parseHosts(text: string): ReadonlyMap<string, readonly LookupAddress[]> {
  const byName = new Map<string, LookupAddress[]>()
  for (const [address = '', ...names] of wordsOfLines(text)) {
    const family = address.includes('%') ? 0 : isIP(address)
    if (family === 0) continue
    for (const name of new Set(names.map((one) => one.toLowerCase()))) {
      const addresses = byName.get(name) ?? []
      addresses.push({ address, family })
      byName.set(name, addresses)
    }
  }
  return byName
}

function wordsOfLines(text: string): string[][] {
  return text.split('\n').map((line) =>
    line
      .replace(/[#;].*/, '')
      .split(/\s+/)
      .filter((word) => word !== ''),
  )
}

/** Returns a function that reads a file, again when it has changed. A file that cannot be read is empty. */
function createFileReader<Content>(file: string, parse: (text: string) => Content): () => Promise<Content> {
  let content = parse('')
  let readAt: number | undefined
  return async () => {
    try {
      const { mtimeMs } = await stat(file)
      if (mtimeMs !== readAt) content = parse(await readFile(file, 'utf8'))
      readAt = mtimeMs
    } catch {
      content = parse('')
      readAt = undefined
    }
    return content
  }
}
