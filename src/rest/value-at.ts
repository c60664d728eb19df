/** Follows the keys of a path through an operation's data: `createUser.user`. */
export function valueAt(data: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], data)
}
