/**
 * The key of a field in REST and in records of an import: `fullName` ⇒ `full_name`. The interface document calls the
 * platform of an account or profile `user_platform`.
 */
export function recordKeyOf(field: string): string {
  if (field === 'platform') return 'user_platform'
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
