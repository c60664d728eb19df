import { noPlan, type ReadPlan } from '@fusion-gateway/prisma-trees'
import {
  type DocumentNode,
  type ExecutionArgs,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  type OperationDefinitionNode,
} from 'graphql'
import type { Context } from '../types.ts'
import { createPlanner } from './planner.ts'
import { readSelection, type Selection } from './selection.ts'

/** What is known of an operation before it runs: its plans, and the scopes of its fields. */
interface PlannedOperation {
  readonly planFor: ReturnType<typeof createPlanner>
  readonly scopes: Selection['scopes']
}

/** Servers keep the documents that they have parsed, so an operation that repeats is read once. */
const operations = new WeakMap<GraphQLSchema, WeakMap<OperationDefinitionNode, PlannedOperation>>()

/**
 * Plans the reads of an operation, for the loaders of its request: `context.loaders.follow(planOf(args))`. Each of its
 * root fields then reads its rows and all relations below it with one statement.
 *
 * @param args those of `execute` of graphql-js; the document is valid
 * @returns a plan that reads one relation at a time if the viewer lacks a scope of the operation, so that only fields
 *   that the viewer may see load their relations
 */
export function planOf({ schema, document, operationName, variableValues, contextValue }: ExecutionArgs): ReadPlan {
  const operation = getOperationAST(document, operationName)
  if (!operation) return noPlan
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? {})
  // Execution rejects the variables, and reads nothing.
  if (!coerced) return noPlan
  const context = contextValue as Context
  const { planFor, scopes } = plannedOperation(schema, document, operation)
  const plan = planFor(coerced, context)
  for (const scope of scopes) {
    if (!context.viewer.scopes.includes(scope)) return { ...plan, branchesOf: noPlan.branchesOf }
  }
  return plan
}

function plannedOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): PlannedOperation {
  const ofSchema = operations.get(schema) ?? new WeakMap<OperationDefinitionNode, PlannedOperation>()
  operations.set(schema, ofSchema)
  const known = ofSchema.get(operation)
  if (known) return known
  const selection = readSelection(schema, document, operation)
  const planned = { planFor: createPlanner(selection), scopes: selection.scopes }
  ofSchema.set(operation, planned)
  return planned
}
