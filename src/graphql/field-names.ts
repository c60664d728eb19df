import { type DocumentNode, visit } from 'graphql'

const known = new WeakMap<DocumentNode, ReadonlySet<string>>()

/**
 * The names of all fields that a document asks for, of whichever type. What is read for it need hold no others: a field
 * resolves from the column of its own name, or from an id (test/field-names.test.ts).
 */
export function fieldNames(document: DocumentNode): ReadonlySet<string> {
  const names = known.get(document) ?? collect(document)
  known.set(document, names)
  return names
}

function collect(document: DocumentNode): ReadonlySet<string> {
  const names = new Set<string>()
  visit(document, {
    Field({ name }) {
      names.add(name.value)
    },
  })
  return names
}
