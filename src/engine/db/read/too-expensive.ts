import { GatewayError } from '../../errors.ts'
import { isStatementTimeout } from '../errors.ts'
import { type Condition, hasSearchedText, isComposed } from './list.ts'
import type { Order } from './order.ts'

/**
 * @param order of a list
 * @throws GatewayError TOO_EXPENSIVE if the conditions and orders that the client composed take longer than a statement
 *   may take
 */
export async function orTooExpensive<Result>(
  conditions: readonly Condition[],
  read: Promise<Result>,
  order?: Order,
): Promise<Result> {
  try {
    return await read
  } catch (error) {
    const isSearched = conditions.some(hasSearchedText)
    const isComposedByClient = isSearched || conditions.some(isComposed) || order?.ties !== undefined
    if (!isComposedByClient || !isStatementTimeout(error)) throw error
    const message = order?.ties
      ? 'The filter and the order take too long. Use fewer conditions, conditions on ids, or no thenBy.'
      : `The filter takes too long. Use fewer conditions, or conditions on ids.${isSearched ? ' Search for a longer part of the text.' : ''}`
    throw new GatewayError('TOO_EXPENSIVE', message, { limit: 'filter_time', cause: error })
  }
}

/** @throws GatewayError TOO_EXPENSIVE if statistics take longer than a statement may take */
export async function orTooManyRows<Result>(read: Promise<Result>): Promise<Result> {
  try {
    return await read
  } catch (error) {
    if (!isStatementTimeout(error)) throw error
    const message = 'The statistics take too long. Use a filter that selects fewer rows.'
    throw new GatewayError('TOO_EXPENSIVE', message, { limit: 'filter_time', cause: error })
  }
}
