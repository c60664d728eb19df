import { type GraphQLInputObjectType, type GraphQLSchema, getNamedType, isInputObjectType } from 'graphql'
import { forbidden } from './errors.ts'
import { isSelected, type Kind } from './people.ts'
import { scopeIn } from './scopes.ts'
import type { Row } from './tables.ts'
import type { View } from './view.ts'

type Filter = Readonly<Record<string, unknown>>

/**
 * Checks the scopes of a filter and of those within it.
 *
 * @throws GraphQLError FORBIDDEN
 */
export function checkFilter(schema: GraphQLSchema, typename: string, filter: Filter, { scopes }: View): void {
  function check(type: GraphQLInputObjectType, given: Filter): void {
    const fields = Object.values(type.getFields()).filter(({ name }) => given[name] != null)
    for (const { description } of fields) {
      const scope = scopeIn(description)
      if (scope !== undefined && !scopes.includes(scope)) throw forbidden(scope)
    }
    for (const field of fields) {
      const inner = getNamedType(field.type)
      if (!isInputObjectType(inner)) continue
      for (const one of [given[field.name]].flat()) check(inner, one as Filter)
    }
  }
  const type = schema.getType(typename)
  if (isInputObjectType(type)) check(type, filter)
}

const kinds: readonly string[] = ['User', 'Account', 'Profile'] satisfies Kind[]

/** The rows of a type that a filter selects. */
export function selectRows(view: View, typename: 'User' | 'Account' | 'Profile' | 'Job', filter: Filter): Row[] {
  const rows = view.rows[typename]
  if (kinds.includes(typename)) {
    const people = view.people[typename as 'User']
    return rows.filter((_, index) => {
      const row = people[index]
      return row !== undefined && isSelected(view.people, typename as 'User', row, filter)
    })
  }
  return rows.filter((row) => isJobSelected(row, filter))
}

const isJobSelected = (row: Row, filter: Filter): boolean =>
  Object.entries(filter).every(([field, value]) => value == null || jobPredicates[field]?.(row, value) === true)

const timeOf = (row: Row) => new Date(String(row['createdAt']))

const jobPredicates: Readonly<Record<string, (row: Row, value: unknown) => boolean>> = {
  status: (row, value) => row['status'] === value,
  jobType: (row, value) => row['jobType'] === value,
  ids: (row, value) => (value as string[]).includes(row.id),
  statuses: (row, value) => (value as unknown[]).includes(row['status']),
  jobTypes: (row, value) => (value as unknown[]).includes(row['jobType']),
  and: (row, value) => (value as Filter[]).every((filter) => isJobSelected(row, filter)),
  or: (row, value) => (value as Filter[]).some((filter) => isJobSelected(row, filter)),
  not: (row, value) => !isJobSelected(row, value as Filter),
  createdAfter: (row, value) => timeOf(row) > (value as Date),
  createdBefore: (row, value) => timeOf(row) < (value as Date),
}

/** The events that a filter selects. */
export function selectEvents(view: View, { types, resourceId, userId, createdAfter, createdBefore }: Filter): Row[] {
  return view.rows.Event.filter(
    (row) =>
      (types == null || (types as unknown[]).includes(row['type'])) &&
      (resourceId == null || row['resourceId'] === resourceId) &&
      (userId == null || row['userId'] === userId) &&
      (createdAfter == null || timeOf(row) > (createdAfter as Date)) &&
      (createdBefore == null || timeOf(row) < (createdBefore as Date)),
  )
}
