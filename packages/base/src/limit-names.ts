/**
 * The limits because of which the gateway refuses work, in the order of a request's life: their names in the log and in
 * metrics. docs/limits.md describes each, in the same order.
 */
export const limitNames = [
  'connections',
  'pipelined_requests',
  'header_length',
  'request_time',
  'event_loop',
  'arriving_of_key',
  'body_length',
  'body_values',
  'in_flight',
  'in_flight_of_key',
  'sockets_of_key',
  'document_size',
  'subscriptions_of_key',
  'operation_cost',
  'points',
  'unsent_of_key',
  'read_length',
  'filter_time',
  'response_length',
  'unread_time',
] as const

export type LimitName = (typeof limitNames)[number]

/** The largest rate limit that a key can have of its own. */
export const maxPointsPerMinute = 2_147_483_647
