import type { Connector, Driver } from '@fusion-gateway/sql'

/**
 * A driver whose migrating session ends after `steps` statements, as if its process were killed: none follows, and none
 * reports.
 */
export function killedAfter(driver: Driver, steps: number): Driver {
  let left = steps
  async function step<Result>(send: () => Promise<Result>): Promise<Result> {
    if (left === 0) throw new Error('killed')
    left -= 1
    const result = await send()
    if (left === 0) throw new Error('killed')
    return result
  }
  const killed = (connector: Connector): Connector => ({
    ...connector,
    runScript: (script) => step(() => connector.runScript(script)),
    send: (...sent) => step(() => connector.send(...sent)),
  })
  return { ...driver, exclusively: (work) => driver.exclusively((connector) => work(killed(connector))) }
}
