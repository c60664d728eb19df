/** The holder of the API key or of the access token of a request. */
export interface Viewer {
  readonly tenantAppId: string
  readonly tenantName: string
  /** The id of the key. For a token: of the key that created it, or a name of the trusted issuer. */
  readonly keyId: string
  readonly keyName: string
  readonly scopes: readonly string[]
  /** The user to whom a token is bound. The viewer sees this user and what belongs to the user, and nothing else. */
  readonly userId?: string | undefined
  /** Whether it is the holder of a token. A token can have fewer scopes than its key. */
  readonly hasToken?: boolean
  /** When the key or the token expires. */
  readonly expiresAt?: Date | undefined
}

/**
 * Identifies who may see what was made for a viewer, such as a stored answer: the key, or all tokens of the key for the same user with the
 * same scopes.
 */
export function holderOf({ keyId, hasToken, userId, scopes }: Viewer): string {
  return hasToken ? JSON.stringify([keyId, userId, scopes]) : keyId
}

/** The condition on the field `userId` of the rows that a viewer may change. */
export function ofUser({ userId }: Viewer): { readonly userId?: string } {
  return userId === undefined ? {} : { userId }
}
