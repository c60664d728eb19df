import type { CursorReader } from '@fusion-gateway/pothos-trees'

/**
 * Reads the cursors of version 0.1.0, which do not name their list: a time and an id, or a JSON array of a field, its
 * value and an id. Clients may have kept them.
 */
export const readUnnamedCursor: CursorReader = (content) => {
  const [, time, id] = /^(-?\d+) (.*)$/su.exec(content) ?? []
  if (time !== undefined && id !== undefined) return { list: undefined, fields: ['createdAt'], texts: [time], id }
  const [field, text, ofRow, ...others] = textsIn(content)
  if (field === undefined || text === undefined || ofRow === undefined || others.length > 0) return undefined
  return { list: undefined, fields: [field], texts: [text], id: ofRow }
}

/** A JSON array of texts; empty if it is anything else. */
function textsIn(content: string): readonly string[] {
  try {
    const values: unknown = JSON.parse(content)
    return Array.isArray(values) && values.every((value) => typeof value === 'string') ? values : []
  } catch {
    return []
  }
}
