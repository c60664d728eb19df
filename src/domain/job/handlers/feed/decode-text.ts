/** A text, and whether all of its bytes could be decoded. Otherwise it has U+FFFD in their places. */
export interface DecodedText {
  readonly text: string
  readonly isExact: boolean
}

/** Byte order marks, and the encodings that they stand for. */
const marks: readonly (readonly [readonly number[], string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xfe, 0xff], 'utf-16be'],
  [[0xff, 0xfe], 'utf-16le'],
]

/** The beginnings of XML in UTF-16 without a byte order mark. */
const wideBeginnings: typeof marks = [
  [[0, 0x3c], 'utf-16be'],
  [[0x3c, 0], 'utf-16le'],
]

/**
 * Decodes a text by its byte order mark or, without one, by the first of these that fits its bytes: the charset of the
 * header `content-type`, the encoding that its XML declaration names, UTF-8.
 *
 * @throws Error if nothing fits and an encoding that is named is unknown
 * @see https://www.rfc-editor.org/rfc/rfc7303#section-3
 */
export function decodeText(bytes: Uint8Array, contentType = ''): DecodedText {
  const marked = encodingAtStart(bytes, marks)
  const labels = marked === undefined ? [charsetOf(contentType), declaredEncoding(bytes), 'utf-8'] : [marked]
  let closest: TextDecoder | undefined
  let unknown: string | undefined
  for (const label of labels) {
    if (label === undefined) continue
    const decoder = createDecoder(label)
    if (!decoder) unknown ??= label
    closest ??= decoder
    const text = decoder && decodeExactly(decoder, bytes)
    if (text !== undefined) return { text, isExact: true }
  }
  if (unknown !== undefined) throw new Error(`The encoding ${unknown.slice(0, 50)} is unknown`)
  return { text: new TextDecoder(closest?.encoding).decode(bytes), isExact: false }
}

function encodingAtStart(bytes: Uint8Array, beginnings: typeof marks): string | undefined {
  return beginnings.find(([beginning]) => beginning.every((byte, index) => bytes[index] === byte))?.[1]
}

/** `text/xml; charset="windows-1251"` ⇒ `windows-1251` */
function charsetOf(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1]
}

/**
 * The encoding in an XML declaration. A declaration that can be read byte by byte is not in UTF-16, whatever it says.
 */
function declaredEncoding(bytes: Uint8Array): string | undefined {
  const wide = encodingAtStart(bytes, wideBeginnings)
  if (wide !== undefined) return wide
  const beginning = Buffer.from(bytes.subarray(0, 400)).toString('latin1')
  const label = /^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']\s*([^\s"']+)/i.exec(beginning)?.[1]
  return label !== undefined && /^utf-?16/i.test(label) ? undefined : label
}

/** Returns undefined if the platform does not know the encoding. */
function createDecoder(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label, { fatal: true })
  } catch {
    return undefined
  }
}

/** Returns undefined if the bytes are not in the encoding. */
function decodeExactly(decoder: TextDecoder, bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
