/** Whoever presented the key: the tenant it belongs to, and what it may do. */
export interface Viewer {
  readonly tenantAppId: string
  readonly tenantName: string
  readonly keyId: string
  readonly keyName: string
  readonly scopes: readonly string[]
}
