/**
 * The limits because of which the gateway refuses work, in the order of a request's life: their names in the log and in
 * metrics. docs/limits.md describes each.
 */
export const limitNames = [
  'connections',
  'pipelined_requests',
  'header_length',
  'request_time',
  'event_loop',
  'in_flight',
  'in_flight_of_key',
  'arriving_of_key',
  'sockets_of_key',
  'subscriptions_of_key',
  'body_length',
  'body_values',
  'document_size',
  'points',
  'operation_cost',
  'unsent_of_key',
  'read_length',
  'filter_time',
  'response_length',
  'unread_time',
] as const

export type LimitName = (typeof limitNames)[number]
