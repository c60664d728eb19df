/** The parameters of a URL that node-postgres knows. It ignores others. */
const urlParameters = new Set(
  (
    'application_name client_encoding encoding host options port user password ' +
    'lock_timeout sslcert sslkey sslmode sslnegotiation sslrootcert'
  ).split(' '),
)

/** The modes of libpq, except those that fall back to a connection without TLS, which node-postgres does not support. */
const sslModes = ['disable', 'require', 'verify-ca', 'verify-full']

/**
 * Lists the problems of the URL of a PostgreSQL server. Parts that would be ignored or misread are problems too, because operators know
 * them from other tools and would rely on them.
 *
 * @param example of a URL, for texts that are not URLs
 * @returns the ends of sentences that begin with the name of a variable. They never contain a part of a password
 */
export function problemsOfUrl(text: string, example: string): string[] {
  if (/#/.test(text)) return ['has a #. Write it as %23']
  if (!isPostgresUrl(text)) return [namesSeveralHosts(text) ? severalHosts : `must be a URL: ${example}`]
  const { username, searchParams, pathname, search } = new URL(text)
  // The name of the role would be parsed as the host, and a part of the password as the rest.
  if (username === '' && /@/.test(pathname + search))
    return ['has a / or a ? before the host. Write them as %2F and %3F']
  return [
    ...(namesSeveralHosts(text) || searchParams.get('host')?.includes(',') ? [severalHosts] : []),
    ...(isDecodable(text) ? [] : ['has a % that encodes no character of UTF-8. Write the character % as %25']),
    ...(/\s/.test(text) ? ['has a space. Write it as %20'] : []),
    ...problemsOfParameters(searchParams),
  ]
}

const severalHosts =
  'must name one host. For several servers, name a proxy such as PgBouncer or HAProxy, or a DNS name of the primary'

function problemsOfParameters(parameters: URLSearchParams): string[] {
  const mode = parameters.get('sslmode')
  const port = parameters.get('port')
  return [
    ...(port !== null && !(/^\d+$/.test(port) && Number(port) > 0 && Number(port) < 65_536)
      ? ['has a port that is no number from 1 to 65535']
      : []),
    ...(mode === null ? [] : problemsOfSslMode(mode).map((problem) => `has an sslmode that ${problem}`)),
    ...(mode === 'verify-ca' && !parameters.has('sslrootcert') ? ['needs sslrootcert with sslmode=verify-ca'] : []),
    ...[...new Set(parameters.keys())].filter((name) => !urlParameters.has(name)).map(problemOfParameter),
  ]
}

/** Says what is wrong with an sslmode. */
export function problemsOfSslMode(mode: string): string[] {
  return sslModes.includes(mode) ? [] : [`is not supported. Use one of ${sslModes.join(', ')}`]
}

function problemOfParameter(name: string): string {
  return name === 'ssl' ? 'has the parameter ssl. Use sslmode' : `has the parameter ${name}, which would have no effect`
}

/** Whether a URL lists several hosts, as libpq accepts: `postgresql://a:5432,b:5432/app`. With ports it is no URL for others. */
function namesSeveralHosts(text: string): boolean {
  const [, authority = ''] = /^postgres(?:ql)?:\/\/([^/?#]*)/.exec(text) ?? []
  return authority.slice(authority.lastIndexOf('@') + 1).includes(',')
}

function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text)
}

function isDecodable(text: string): boolean {
  try {
    return Boolean(decodeURIComponent(text))
  } catch {
    return false
  }
}
