/** The holder of the API key of a request. */
export interface Viewer {
  readonly tenantAppId: string
  readonly tenantName: string
  readonly keyId: string
  readonly keyName: string
  readonly scopes: readonly string[]
}
