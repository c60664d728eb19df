/**
 * Parses the URL of a server. psql accepts one that names no host, such as
 * `postgresql://user:password@/database?host=/run/postgresql`, and so do providers whose servers are reached by a
 * socket.
 *
 * @returns the URL; its host is `localhost` if the text names none
 * @throws TypeError if the text is not a URL
 */
export function toUrl(text: string): URL {
  return new URL(URL.canParse(text) ? text : text.replace('@/', '@localhost/'))
}

/** The URL of another server, with the same role, database and parameters. */
export function urlOfNode(text: string, { host, port }: { readonly host: string; readonly port: number }): string {
  const url = toUrl(text)
  for (const name of ['host', 'port']) url.searchParams.delete(name)
  url.hostname = host.includes(':') ? `[${host}]` : host
  url.port = String(port)
  return url.href
}
