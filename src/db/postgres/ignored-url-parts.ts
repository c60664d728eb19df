/** The parameters of a URL that node-postgres knows. It ignores others. */
const urlParameters = new Set([
  ...['application_name', 'client_encoding', 'encoding', 'host', 'options', 'port', 'user', 'password'],
  ...['lock_timeout', 'ssl', 'sslcert', 'sslkey', 'sslmode', 'sslnegotiation', 'sslrootcert', 'uselibpqcompat'],
])

/**
 * Says what is wrong with the parts of a valid URL that would be ignored: other tools know them, and an operator would count on them.
 *
 * @returns the ends of sentences that begin with the name of a variable
 */
export function ignoredUrlParts(text: string): string[] {
  const { hostname, searchParams } = new URL(text)
  const unknown = [...new Set(searchParams.keys())].filter((name) => !urlParameters.has(name))
  return [
    ...(hostname.includes(',') || searchParams.get('host')?.includes(',')
      ? ['must name one host. Put a load balancer or a proxy in front of several']
      : []),
    ...unknown.map((name) => `has the parameter ${name}, which would have no effect`),
  ]
}
