import type { Random } from '../../../src/domain/resource.ts'

/** Something that can happen in the campaign. Takes about the given seconds, and resolves when it is over. */
export type Happening = (seconds: number) => Promise<void>

/** Things that happen one after the other. The lanes of a campaign run at the same time. */
export interface Lane {
  readonly name: string
  readonly happenings: Readonly<Record<string, Happening>>
  /** The shortest and the longest pause before each. */
  readonly pauseSeconds: readonly [number, number]
  /** The shortest and the longest duration of each. */
  readonly lengthSeconds: readonly [number, number]
}

/** What happens in a lane, and when. */
export interface PlannedEvent {
  readonly lane: Lane
  readonly name: string
  /** Seconds from the start of the campaign. */
  readonly at: number
  readonly seconds: number
}

/** Plans a lane for some seconds. All happenings occur equally often, in random order. */
export function planLane(lane: Lane, seconds: number, random: Random): PlannedEvent[] {
  const between = ([min, max]: readonly [number, number]) => min + random.next() * (max - min)
  const events: PlannedEvent[] = []
  let left: string[] = []
  for (let at = between([0, lane.pauseSeconds[1]]); ; ) {
    const length = between(lane.lengthSeconds)
    if (at + length > seconds) return events
    if (left.length === 0) left = Object.keys(lane.happenings)
    const name = random.pick(left)
    left = left.filter((other) => other !== name)
    events.push({ lane, name, at, seconds: length })
    at += length + between(lane.pauseSeconds)
  }
}
