import { toUrl } from './to-url.ts'
import { isKnownParameter } from './url-parameters.ts'

/** The modes of libpq, except `allow`, which asks for TLS only where the server insists. */
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']

const channelBindings = ['disable', 'prefer', 'require']
const sslNegotiations = ['postgres', 'direct']

/**
 * Lists the problems of the URL of a PostgreSQL server. Parts that would be misread are problems too, and parameters
 * that are ignored here and protect something elsewhere.
 *
 * @param example of a URL, for texts that are not URLs
 * @returns the ends of sentences that begin with the name of a variable. They never contain a part of a password
 */
export function problemsOfUrl(text: string, example: string): string[] {
  if (/#/.test(text)) return ['has a #. Write it as %23']
  if (!isPostgresUrl(text)) return [namesSeveralHosts(text) ? severalHosts : `must be a URL: ${example}`]
  const { username, searchParams, pathname, search } = toUrl(text)
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
  const schema = parameters.get('schema')
  const port = parameters.get('port')
  return [
    ...(port !== null && !(/^\d+$/.test(port) && Number(port) > 0 && Number(port) < 65_536)
      ? ['has a port that is no number from 1 to 65535']
      : []),
    ...(mode === null ? [] : problemsOfSslMode(mode).map((problem) => `has an sslmode that ${problem}`)),
    ...(mode === 'verify-ca' && !parameters.has('sslrootcert') ? ['needs sslrootcert with sslmode=verify-ca'] : []),
    // The authorities of the system vouch for every domain, so that the name of the server has to be checked.
    ...(parameters.get('sslrootcert') === 'system' && !['verify-full', null].includes(mode)
      ? ['needs sslmode=verify-full with sslrootcert=system']
      : []),
    ...(parameters.get('sslnegotiation') === 'direct' && ['disable', 'prefer', null].includes(mode)
      ? ['needs sslmode=require or more with sslnegotiation=direct']
      : []),
    ...problemsOfChoice(parameters, 'channel_binding', channelBindings),
    ...problemsOfChoice(parameters, 'sslnegotiation', sslNegotiations),
    ...(schema === null || schema === 'public'
      ? []
      : ['has the parameter schema. The tables are in the schema public']),
    ...[...new Set(parameters.keys())]
      .filter((name) => name !== 'schema' && !isKnownParameter(name))
      .map(problemOfParameter),
  ]
}

function problemsOfChoice(parameters: URLSearchParams, name: string, values: readonly string[]): string[] {
  const value = parameters.get(name)
  return value === null || values.includes(value)
    ? []
    : [`has the parameter ${name}, which must be one of ${values.join(', ')}`]
}

/** Says what is wrong with an sslmode. */
export function problemsOfSslMode(mode: string): string[] {
  return sslModes.includes(mode) ? [] : [`is not supported. Use one of ${sslModes.join(', ')}`]
}

function problemOfParameter(name: string): string {
  return name === 'ssl' ? 'has the parameter ssl. Use sslmode' : `has the parameter ${name}, which would have no effect`
}

/**
 * Whether a URL lists several hosts, as libpq accepts: `postgresql://a:5432,b:5432/app`. With ports it is no URL for
 * others.
 */
function namesSeveralHosts(text: string): boolean {
  const [, authority = ''] = /^postgres(?:ql)?:\/\/([^/?#]*)/.exec(text) ?? []
  return authority.slice(authority.lastIndexOf('@') + 1).includes(',')
}

function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text.replace('@/', '@localhost/'))
}

function isDecodable(text: string): boolean {
  try {
    return Boolean(decodeURIComponent(text))
  } catch {
    return false
  }
}
