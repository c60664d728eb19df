import type { Loaders } from '@fusion-gateway/prisma-trees'
import type { Sql } from '@fusion-gateway/sql'
import type { Register } from './register.ts'
import type { JsonObject, JsonScalar } from './scalars.ts'

/** What the fields of this package need of the context of resolvers. */
export interface TreesContext {
  /** Who sends the request: the scopes that fields need. */
  readonly viewer: { readonly scopes: readonly string[] }
  /** Sends the statements of the request. */
  readonly sql: Sql
  /** The reads of the request. */
  readonly loaders: Loaders
  readonly within: (transaction: Sql) => Pick<TreesContext, 'sql' | 'loaders'>
  /** Stands for one execution, for what its viewer may not see (masked.ts). */
  readonly execution?: object
}

export type Context = Register['context']

export type AppTypes = Register['types']

/** What the types of a schema have that uses this package, besides its context and its models. */
export interface TreesTypes {
  readonly DefaultFieldNullability: false
  readonly DefaultEdgesNullability: false
  readonly DefaultNodeNullability: false
  readonly Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    Date: { Input: Date; Output: Date }
    JSONObject: { Input: JsonObject; Output: JsonObject }
    JSONScalar: { Input: JsonScalar; Output: JsonScalar }
    SafeInt: { Input: number; Output: number }
  }
}

type Builder = PothosSchemaTypes.SchemaBuilder<AppTypes>

/** Defines a type that several fields of a schema share, once for each builder. */
export function shared<Type>(define: (builder: Builder) => Type): (builder: Builder) => Type {
  const defined = new WeakMap<Builder, Type>()
  return (builder) => {
    const known = defined.get(builder) ?? define(builder)
    defined.set(builder, known)
    return known
  }
}
