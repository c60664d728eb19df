/** The parameters of a URL that node-postgres knows. It ignores others. */
const urlParameters = new Set([
  ...['application_name', 'client_encoding', 'encoding', 'host', 'options', 'port', 'user', 'password'],
  ...['lock_timeout', 'sslcert', 'sslkey', 'sslmode', 'sslnegotiation', 'sslrootcert'],
])

/** The modes of libpq without those that try TLS and go on without it: node-postgres does not try. */
export const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const

export const severalHosts = 'must name one host. Put a load balancer or a proxy in front of several'

/** Whether a URL lists several hosts, as libpq accepts: `postgresql://a:5432,b:5432/app`. With ports it is no URL for others. */
export function namesSeveralHosts(text: string): boolean {
  const [, authority = ''] = /^postgres(?:ql)?:\/\/([^/?#]*)/.exec(text) ?? []
  return authority.slice(authority.lastIndexOf('@') + 1).includes(',')
}

/**
 * Says what is wrong with the parts of a valid URL that would be ignored or misread: other tools know them, and an operator would count
 * on them.
 *
 * @returns the ends of sentences that begin with the name of a variable
 */
export function problemsOfUrl(text: string): string[] {
  const { searchParams, hash } = new URL(text)
  const names = [...new Set(searchParams.keys())]
  const mode = searchParams.get('sslmode')
  return [
    ...(searchParams.get('host')?.includes(',') || namesSeveralHosts(text) ? [severalHosts] : []),
    ...(isDecodable(text) ? [] : ['has a % that encodes nothing. Write the character % as %25']),
    ...(/\s/.test(text) ? ['has a space. Write it as %20'] : []),
    ...(hash === '' ? [] : ['has a #. Write it as %23']),
    ...(mode === null || sslModes.some((known) => known === mode)
      ? []
      : [`has an unknown sslmode. It must be one of ${sslModes.join(', ')}`]),
    ...names
      .filter((name) => !urlParameters.has(name))
      .map((name) =>
        name === 'ssl' ? 'has the parameter ssl. Use sslmode' : `has the parameter ${name}, which would have no effect`,
      ),
  ]
}

function isDecodable(text: string): boolean {
  try {
    return Boolean(decodeURIComponent(text))
  } catch {
    return false
  }
}
