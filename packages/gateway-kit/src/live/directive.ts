import type { Values } from '@fusion-gateway/pothos-trees'
import {
  DirectiveLocation,
  GraphQLBoolean,
  GraphQLDirective,
  GraphQLInt,
  getDirectiveValues,
  type OperationDefinitionNode,
} from 'graphql'
import { DocumentError } from '../operation/prepare/bounds.ts'

const defaultThrottle = 200

/** The directive that makes a query live. */
export const liveDirective = new GraphQLDirective({
  name: 'live',
  description:
    'Sends the result of a query, and again whenever it changes, until the client ends it: over WebSockets, server-sent events and the multipart ' +
    'protocol. A response as JSON is sent once.',
  locations: [DirectiveLocation.QUERY],
  args: {
    if: { type: GraphQLBoolean, defaultValue: true, description: 'Whether the query is live.' },
    throttle: {
      type: GraphQLInt,
      defaultValue: defaultThrottle,
      description: 'The least time between two results, in milliseconds: 100 to 60,000.',
    },
  },
})

const throttles = { least: 100, most: 60_000 }

/** How an operation is followed. */
export interface Live {
  readonly isOn: boolean
  /** Whether it is a subscription. Its clients expect no `extensions.live`. */
  readonly isSubscription?: boolean
  /** The least time between two results, in milliseconds. */
  readonly throttle: number
}

/** How a query is followed without the directive. */
export const defaultLive: Live = { isOn: true, throttle: defaultThrottle }

/** How a subscription to an object is followed. */
export const subscribedLive: Live = { isOn: true, isSubscription: true, throttle: throttles.least }

/**
 * Reads the directive of an operation.
 *
 * @param coerced the values of the variables. Before they are known, a variable in it counts as absent
 * @returns undefined if the operation has none
 * @throws DocumentError if the time is out of range
 */
export function readLive(definition: OperationDefinitionNode, coerced?: Values): Live | undefined {
  const found = definition.directives?.find(({ name }) => name.value === liveDirective.name)
  if (!found) return undefined
  const { if: isOn, throttle } = getDirectiveValues(liveDirective, definition, coerced) as {
    readonly if?: boolean | null
    readonly throttle?: number | null
  }
  const milliseconds = throttle ?? defaultThrottle
  if (milliseconds < throttles.least || milliseconds > throttles.most) {
    throw new DocumentError(
      `The argument "throttle" of @live is ${milliseconds}. It must be from ${throttles.least} to ${throttles.most} milliseconds.`,
      { nodes: found },
    )
  }
  return { isOn: isOn ?? true, throttle: milliseconds }
}

/** The same operation without the directive: executors have nothing to do with it. */
export function withoutLive(definition: OperationDefinitionNode): OperationDefinitionNode {
  const { directives = [] } = definition
  const others = directives.filter(({ name }) => name.value !== liveDirective.name)
  return others.length === directives.length ? definition : { ...definition, directives: others }
}
