import type { ExecutionResult } from 'graphql'
import type { Admitted, Applicant } from '../limits/admission.ts'
import { countNodes } from './count-nodes.ts'

/** A result that says what it cost: the points that were taken, the nodes that it holds, the points that are left. */
export function withCost(result: ExecutionResult, applicant: Applicant, { price, budget }: Admitted): ExecutionResult {
  const actual = countNodes(applicant.document, applicant.operationName, result.data)
  return { ...result, extensions: { cost: { requested: price, actual, remaining: budget?.remaining ?? null } } }
}
