import type { GraphQLRequest, Result } from './core.ts'


export interface Sink {
  next(result: Result): void
  error(error: Error): void
  complete(): void
}

/** Subscribes. Returns a function that ends the subscription. */
export type Subscribe = (request: GraphQLRequest, sink: Sink) => () => void
