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
