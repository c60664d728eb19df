// Yoga imports its fetch API from the package @whatwg-node/fetch, which contains an implementation for old versions of
// Node. package.json overrides it with this one, which exports Node's own classes.
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
