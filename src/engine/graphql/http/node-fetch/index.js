// Yoga imports its fetch API from the package @whatwg-node/fetch, which brings an implementation of its own for old versions of Node.
// package.json overrides it with this one: the classes that Node has.
export const {
  fetch,
  Headers,
  Request,
  Response,
  FormData,
  File,
  Blob,
  ReadableStream,
  WritableStream,
  TransformStream,
  CompressionStream,
  DecompressionStream,
  TextDecoderStream,
  TextEncoderStream,
  TextDecoder,
  TextEncoder,
  URL,
  URLPattern,
  URLSearchParams,
  crypto,
  btoa,
} = globalThis

export const createFetch = () => globalThis
