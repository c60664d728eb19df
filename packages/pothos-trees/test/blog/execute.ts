import { planOf } from '@fusion-gateway/pothos-trees'
import { type ExecutionArgs, execute } from 'graphql'
import type { Context } from './context.ts'

export function executePlanned(args: ExecutionArgs) {
  const { loaders } = args.contextValue as Context
  loaders.follow(planOf(args))
  return execute(args)
}
