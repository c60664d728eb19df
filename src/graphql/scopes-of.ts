import { type DocumentNode, TypeInfo, visit, visitWithTypeInfo } from 'graphql'
import type { FieldScope, Scope } from '../auth/scopes.ts'
import type { Viewer } from '../auth/viewer.ts'
import { schema } from './schema.ts'

const known = new WeakMap<DocumentNode, readonly Scope[]>()

/** The scopes that the fields of a valid document need, all of them together. Those of a `node` are known when it is. */
export function scopesOf(document: DocumentNode): readonly Scope[] {
  const scopes = known.get(document) ?? collect(document)
  known.set(document, scopes)
  return scopes
}

/** Whether a key may see everything that a document names. */
export function mayRead({ scopes }: Viewer, document: DocumentNode): boolean {
  return scopesOf(document).every((scope) => scopes.includes(scope))
}

function collect(document: DocumentNode): readonly Scope[] {
  const found = new Set<Scope>()
  const types = new TypeInfo(schema)
  visit(
    document,
    visitWithTypeInfo(types, {
      Field() {
        const scope = types.getFieldDef()?.extensions['scope'] as FieldScope | undefined
        if (scope !== undefined && scope !== 'inherited') found.add(scope)
      },
    }),
  )
  return [...found]
}
