import { expect, it } from 'vitest'
import { readFeed } from '../../src/domain/job/handlers/fetch-content.ts'

it('unclosed tags with namespaces are rejected before they take much time or memory', async () => {
  const feed = `<rss version="2.0"><channel>${'<a xmlns:b="c">'.repeat(100_000)}</channel></rss>`
  await expect(readFeed({ bytes: Buffer.from(feed) }, new AbortController().signal)).rejects.toMatchObject({
    name: 'PermanentError',
    message: 'The URL did not answer with an RSS, Atom or JSON feed',
  })
})
