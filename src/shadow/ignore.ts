/**
 * Creates the condition of `--ignore`: whether a place, or one above it, is ignored. A path is written as the report
 * writes it (`$.users[*].phone`, `headers.location`), without `$` or `[*]` if that is easier (`users.phone`), or with
 * `**` for any keys (`**.updated_at`).
 */
export function createIgnore(paths: readonly string[]): (path: string) => boolean {
  const patterns = paths.map(keysOf)
  return (path) => {
    const keys = keysOf(path)
    return patterns.some((pattern) => matches(pattern, keys))
  }
}

/** `$.users[*].phone` ⇒ `['users', 'phone']`. Lists have no keys. */
function keysOf(path: string): string[] {
  return path
    .replace(/^\$/, '')
    .replace(/\[['"]([^'"\]]*)['"]\]/g, '.$1')
    .replace(/\[[^\]]*\]/g, '')
    .split('.')
    .filter((key) => key !== '' && !/^\d+$/.test(key))
}

/** Whether the keys begin as the pattern says. `*` is one key or the items of a list, `**` any number of keys. */
function matches([first, ...rest]: readonly string[], keys: readonly string[]): boolean {
  if (first === undefined) return true
  if (first === '**') return keys.some((_, index) => matches(rest, keys.slice(index)))
  if (first === '*' && matches(rest, keys)) return true
  return keys.length > 0 && (first === '*' || first === keys[0]) && matches(rest, keys.slice(1))
}
