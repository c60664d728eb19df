import { constants } from 'node:zlib'
import type { FastifyCompressOptions } from '@fastify/compress'

/** Shorter answers fit into one network packet anyway, in bytes. */
const threshold = 1_024

/**
 * Answers up to this length, in bytes, are compressed synchronously: that takes less than 0.5 ms, and setting up a stream takes about as
 * long. Longer ones are compressed on other threads, as fast as the client reads.
 */
const syncThreshold = 64 * 1024

/**
 * How answers are compressed if the client accepts it. The levels are the lowest, because the gateway's CPU is scarcer than the
 * network: at level 4, Brotli makes JSON a tenth shorter and takes two to three times as long. docs/performance.md has the measurement.
 */
export const compression = {
  encodings: ['br', 'gzip'],
  threshold,
  syncThreshold,
  brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } },
  zlibOptions: { level: 1 },
} satisfies FastifyCompressOptions
