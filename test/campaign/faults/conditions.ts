/** What could affect a request. */
export type Condition = 'without faults' | 'under attack' | 'during faults'

/** A fault that is not over. */
export interface Disturbance {
  /** Whether no other fault affects the gateway. */
  isAlone(gateway: number): boolean
  /** Call it when the gateways have recovered. */
  end(): void
}

/** Knows which gateways are disturbed, so that responses can be counted by the condition. */
export interface Conditions {
  /** Notes a fault that affects these gateways. */
  disturb(gateways: readonly number[]): Disturbance
  /** Notes an attack, which affects all gateways, because they share the database. Call the result at its end. */
  attack(): () => void
  /** Observes a gateway. Call the result to learn what happened to it meanwhile. */
  observe(gateway: number): () => Condition
}

/** Creates the conditions of a number of gateways. Nothing disturbs them yet. */
export function createConditions(gateways: number): Conditions {
  const faults = Array.from({ length: gateways }, createCounter)
  const attacks = createCounter()
  const faultsOf = (gateway: number) => faults[gateway] ?? attacks
  return {
    disturb(affected) {
      const ends = affected.map((gateway) => faultsOf(gateway).begin())
      return {
        isAlone: (gateway) => faultsOf(gateway).active() === 1,
        end() {
          for (const end of ends) end()
        },
      }
    },
    attack: attacks.begin,
    observe(gateway) {
      const isDisturbed = faultsOf(gateway).observe()
      const isAttacked = attacks.observe()
      return () => (isDisturbed() ? 'during faults' : isAttacked() ? 'under attack' : 'without faults')
    },
  }
}

/** Counts the periods that have begun and those that have not ended. */
function createCounter() {
  let begun = 0
  let active = 0
  return {
    active: () => active,
    begin() {
      begun += 1
      active += 1
      return () => {
        active -= 1
      }
    },
    /** The result tells whether a period overlapped the time since this call. */
    observe() {
      const wasActive = active > 0
      const before = begun
      return () => wasActive || begun > before
    },
  }
}
