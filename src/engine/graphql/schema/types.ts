import type { Context } from '../../context.ts'
import type PrismaTypes from '../../db/generated/pothos.ts'
import type { JsonObject } from './scalars.ts'

/** The types of the schema for Pothos: the context of resolvers, the models, and the scalars. */
export interface SchemaTypes {
  readonly Context: Context
  readonly PrismaTypes: PrismaTypes
  readonly DefaultFieldNullability: false
  readonly DefaultEdgesNullability: false
  readonly DefaultNodeNullability: false
  readonly Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    Date: { Input: Date; Output: Date }
    JSONObject: { Input: JsonObject; Output: JsonObject }
    SafeInt: { Input: number; Output: number }
  }
}

/** The same with the defaults of Pothos, as its builders take them. */
export type GatewayTypes = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>

type Builder = PothosSchemaTypes.SchemaBuilder<GatewayTypes>

/** Defines a type that several fields of a schema share, once for each builder. */
export function shared<Type>(define: (builder: Builder) => Type): (builder: Builder) => Type {
  const defined = new WeakMap<Builder, Type>()
  return (builder) => {
    const known = defined.get(builder) ?? define(builder)
    defined.set(builder, known)
    return known
  }
}
