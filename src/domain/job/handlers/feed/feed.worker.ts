import { parentPort, workerData } from 'node:worker_threads'
import { decodeText } from './decode-text.ts'
import { type FeedIds, idsOf } from './feed-item.ts'
import { readJsonFeed } from './read-json-feed.ts'
import { readXmlFeed } from './read-xml-feed.ts'

/** A feed as it was received. */
export interface FeedBytes {
  readonly bytes: Uint8Array
  /** The header `content-type`. */
  readonly contentType?: string | undefined
}

/** The ids of a feed, or what is wrong with it. */
export type FeedAnswer = FeedIds | { readonly problem: string }

/** Reads the ids of an RSS, Atom, RDF or JSON feed. */
function readIds({ bytes, contentType }: FeedBytes): FeedAnswer {
  let decoded: ReturnType<typeof decodeText>
  try {
    decoded = decodeText(bytes, contentType)
  } catch (error) {
    return { problem: (error as Error).message }
  }
  const { text, isExact } = decoded
  const ids = idsOf(/^\s*\{/.test(text) ? readJsonFeed(text) : readXmlFeed(text))
  const isUndecoded = (id: string) => !isExact && id.includes('\uFFFD')
  // Two ids with different bytes could become one.
  if ([...ids.contentIds, ...ids.contentGroupIds].some(isUndecoded)) {
    return { problem: 'An id in the feed cannot be decoded: its bytes are not in the encoding of the feed' }
  }
  return ids
}

parentPort?.postMessage(readIds(workerData as FeedBytes))
