import type { FastifyReply } from 'fastify'
import { errorCodes, GatewayError } from '../../errors.ts'
import { createTextPages, faviconPath } from '../../http/pages/page.ts'

/**
 * Serves browsers while GraphiQL is off: a page that says how to turn it on, with the status of a request without a
 * key.
 *
 * @param onlyTrusted whether GraphiQL is off because only trusted documents are executed
 */
export function createGraphiqlHint(onlyTrusted: boolean): (reply: FastifyReply) => string {
  const sendTextPage = createTextPages()
  const { code, headers } = new GatewayError('UNAUTHENTICATED', 'GraphiQL is off.')
  const body = page(onlyTrusted ? trusted : off)
  return (reply) => {
    reply.code(errorCodes[code].status).headers(headers)
    return sendTextPage(reply, 'GraphiQL is off · Fusion Gateway', body)
  }
}

const off = {
  reason: 'A gateway on PostgreSQL shows GraphiQL here only if its operator turns it on.',
  advice: 'Start the gateway with two variables. The second one lets GraphiQL load the schema:',
  command: 'GRAPHIQL=on INTROSPECTION=on npm start',
  request: '{"query": "{ viewer { keyName } }"}',
}

const trusted = {
  reason:
    'It executes trusted documents only, so GraphiQL could neither load the schema nor run an operation that you type.',
  advice: 'Start the gateway in the mode that also executes other documents, and logs them:',
  command: 'TRUSTED_DOCUMENTS_MODE=log npm start',
  request: '{"documentId": "…"}',
}

const page = ({ reason, advice, command, request }: typeof off) => `<header>
<img src="${faviconPath}" alt="">
<h1>GraphiQL is off</h1>
</header>
<p class="lead">This address serves GraphQL requests that send an API key. ${reason}</p>
<h2>Turn it on</h2>
<p>${advice}</p>
<pre tabindex="0" aria-label="Command"><code>${command}</code></pre>
<h2>Or send a request</h2>
<pre tabindex="0" aria-label="Example"><code>curl -H "x-api-key: $KEY" -H 'content-type: application/json' \\
  -d '${request}' \\
  $GATEWAY/graphql</code></pre>
<p>The <a href="/">start page</a> links to the REST reference.</p>`
