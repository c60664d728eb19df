/**
 * Keeps the order in which tenants with due deliveries are served. The database is asked for them when none is left, or
 * when there can be others.
 *
 * @param listDue lists the tenants that have due deliveries
 */
export function createTenantTurns(listDue: () => Promise<readonly string[]>) {
  /** The one that has waited longest first. */
  let waiting = new Set<string>()
  let isKnown = false

  return {
    /**
     * Takes tenants that can be served.
     *
     * @param limit how many at most
     */
    async next(limit: number, canServe: (tenantAppId: string) => boolean): Promise<string[]> {
      if (!isKnown || waiting.size === 0) {
        const listed = await listDue()
        // Those that wait already keep their places.
        waiting = new Set([...waiting].filter((id) => listed.includes(id)).concat(listed))
        isKnown = true
      }
      const taken = [...waiting].filter(canServe).slice(0, limit)
      for (const tenantAppId of taken) waiting.delete(tenantAppId)
      return taken
    },
    /** Whether a tenant waits that can be served. */
    has: (canServe: (tenantAppId: string) => boolean) => [...waiting].some(canServe),
    /** Puts a tenant that may have more behind the others. */
    add: (tenantAppId: string) => void waiting.add(tenantAppId),
    /** Lets the next tenants be asked for: others can have due deliveries. */
    forget() {
      isKnown = false
    },
  }
}
