/** The holder of the API key or of the access token of a request. */
export interface Viewer {
  readonly tenantAppId: string
  readonly tenantName: string
  /** The id of the key. For a token: of the key that created it, or a name of the trusted issuer. */
  readonly keyId: string
  readonly keyName: string
  readonly scopes: readonly string[]
  /** The user to whom a token is bound. The viewer sees only this user and the user's data. */
  readonly userId?: string | undefined
  /** Whether it is the holder of a token. A token can have fewer scopes than its key. */
  readonly hasToken?: boolean
  readonly expiresAt?: Date | undefined
  /** The rate limit of the key itself, in points per minute. Undefined: it has only that of the gateway. */
  readonly pointsPerMinute?: number | undefined
}

/** Who may see a viewer's stored responses: the key, or its tokens with the same user and scopes. */
export function holderOf({ keyId, hasToken, userId, scopes }: Viewer): string {
  return hasToken ? JSON.stringify([keyId, userId, scopes]) : keyId
}
