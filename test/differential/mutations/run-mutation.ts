import { isDeepStrictEqual } from 'node:util'
import { parse, print } from 'graphql'
import type { Random } from '../../../src/domain/resource.ts'
import type { TestApp } from '../../support/app.ts'
import { describeDifference, differenceOf, ofGateway, ofReference } from '../compare/responses.ts'
import { type Operation, shrink, smallerOperations } from '../compare/shrink.ts'
import { generateMutation } from '../generate/operation.ts'
import { forbidden } from '../reference/errors.ts'
import { executeReference } from '../reference/reference.ts'
import { orderedTexts, orderTexts, readTables, type Tables } from '../reference/tables.ts'
import { createView } from '../reference/view.ts'
import { createRows } from '../world/create-rows.ts'
import type { Viewer, World } from '../world/world.ts'
import { bulkOf, type Input, inputs } from './inputs.ts'
import { Deleted, Model, type Rejection, type Result } from './model.ts'
import { rejectEach } from './rules.ts'

/** The field of a payload that has the result. */
const resultFields: Readonly<Record<string, string>> = {
  createUser: 'user',
  updateUser: 'user',
  linkAccount: 'account',
  updateAccount: 'account',
  syncProfile: 'profile',
  createJob: 'job',
}

/** The field of a payload that has the row that was not written, because it has changed. */
const currentFields: Readonly<Record<string, string>> = {
  updateUser: 'user',
  deleteUser: 'user',
  updateAccount: 'account',
  unlinkAccount: 'account',
  syncProfile: 'profile',
}

/** A mutation, which has one input or, as its companion, many. */
interface Mutation extends Operation {
  readonly one: string
  readonly name: string
}

interface Mismatch {
  readonly mutation: Mutation
  readonly viewer: Viewer
  readonly given: unknown
  readonly difference: string
}

/** The tables that mutations change. */
const changing = ['User', 'Account', 'Profile', 'EmailRecord', 'Job']

/** With fewer accounts, most mutations would find nothing. */
const minAccounts = 20

/** With more users or jobs, mutations would take longer and longer. */
const maxRows = 60

/**
 * Runs a random mutation four times: interpreted, compiled, and by other viewers between. Its inputs are random each
 * time. Each payload must be that of graphql-js over the rows after the mutation, and these rows must be the ones that
 * the model predicts.
 *
 * @returns a description of the smallest mismatch
 */
export async function runMutation(world: World, random: Random): Promise<string | undefined> {
  const { schema, cursors, writers, app } = world
  const [full] = writers
  if (!full) throw new Error('The world has no writers')
  const { tenantAppId } = full.holder
  await refill(app, tenantAppId, random)
  const one = random.pick(Object.keys(inputs))
  const bulk = bulkOf(one)
  const name = bulk !== undefined && random.below(2) === 0 ? bulk : one
  const mutation = { one, name, ...generateMutation({ schema, cursors, tenantAppId }, random, name) }

  async function attempt(tried: Mutation, comment = ''): Promise<Mismatch | undefined> {
    for (const viewer of [full, full, random.pick(writers), full] as Viewer[]) {
      const mismatch = await runOnce(world, { ...tried, text: tried.text + comment }, viewer, random)
      if (mismatch) return { ...mismatch, mutation: tried }
    }
    return undefined
  }

  const found = await attempt(mutation)
  if (!found) return undefined
  const shrunk = await shrink<Mutation, Mismatch>(mutation, {
    attempt,
    *smaller({ mutation: larger }) {
      for (const operation of smallerOperations(schema, larger)) yield { ...larger, ...operation }
    },
  })
  const { mutation: smallest, viewer, given, difference } = shrunk ?? found
  return `${print(parse(smallest.text))}\n${viewer.name}: ${JSON.stringify(given)}\n${difference}`
}

/** Fills the tenant again when mutations have left too few or too many rows. */
export async function refill({ database }: TestApp, tenantAppId: string, random: Random): Promise<void> {
  const { User, Account, Job } = await readTables(database, tenantAppId, ['User', 'Account', 'Job'])
  if (Account.length >= minAccounts && User.length <= maxRows && Job.length <= maxRows) return
  await database.prisma.user.deleteMany({ where: { tenantAppId } })
  await database.prisma.job.deleteMany({ where: { tenantAppId } })
  await createRows(database, tenantAppId, random)
}

async function runOnce(
  world: World,
  mutation: Mutation,
  viewer: Viewer,
  random: Random,
): Promise<Omit<Mismatch, 'mutation'> | undefined> {
  const { app, schema, cursors } = world
  const { one, name, text, sets } = mutation
  const { holder, credentials } = viewer
  const read = () => readTables(app.database, holder.tenantAppId, changing)
  const before = await read()
  const create = inputs[one]
  if (!create) throw new Error(`${one} has no inputs`)
  const all = Array.from({ length: name === one ? 1 : 1 + random.below(3) }, () => create(before, random))
  const given = name === one ? { input: all[0] } : { inputs: all }
  const variables = { ...sets[random.below(sets.length)], ...given }
  const response = await app.graphql(credentials, text, variables)
  const after = await read()
  const order = await orderTexts(app.database, orderedTexts(after))
  const view = createView(holder, after, order, cursors)

  const mismatch = (difference: string) => ({ viewer, given: variables, difference })
  try {
    const model = new Model(holder, before, after)
    const payload = payloadOf(mutation, all, model, viewer)
    const expected = executeReference(schema, parse(text), variables, view, { [name]: payload })
    const difference = differenceOf(ofGateway(response), ofReference(expected)) ?? differenceOfRows(model, after)
    return difference === undefined ? undefined : mismatch(difference)
  } catch (error) {
    // The model did not find in the rows what the mutation should have written.
    return mismatch(`${(error as Error).message}\n  gateway: ${JSON.stringify(response)}`)
  }
}

/** The payload that a mutation should return, as the value of its field. */
function payloadOf({ one, name }: Mutation, all: readonly Input[], model: Model, { holder }: Viewer): () => unknown {
  const scope = one === 'createJob' ? 'jobs:write' : 'users:write'
  const isForbidden = !holder.scopes.includes(scope) || (one === 'createUser' && holder.userId !== undefined)
  if (isForbidden) {
    return () => {
      throw forbidden(scope)
    }
  }
  const isBulk = name !== one
  const results = rejectEach(one, all).map((rejections, index): Result => {
    const input = all[index] ?? {}
    return rejections.length > 0 ? rejections : model[one as 'createUser'](input)
  })
  const payloads = results.map((result, index) => toPayload(one, result, isBulk ? ['inputs', String(index)] : []))
  return () => (isBulk ? { results: payloads } : payloads[0])
}

function toPayload(one: string, result: Result, path: readonly string[]) {
  const rejections: readonly Rejection[] = Array.isArray(result) ? result : []
  const current = rejections[0]?.current
  return {
    ...(result instanceof Deleted
      ? result.fields
      : { [resultFields[one] ?? '']: rejections.length > 0 ? null : result }),
    ...(current && { [currentFields[one] ?? '']: current }),
    userErrors: rejections.map(({ field, code }) => ({ code, field: [...path, ...field.split('.')] })),
  }
}

/** What differs between the rows after a mutation and those that the model predicts. */
function differenceOfRows(model: Model, after: Tables): string | undefined {
  for (const [typename, predicted] of Object.entries(model.tables())) {
    const actual = new Map(after[typename as 'User'].map((row) => [row.id, row]))
    for (const id of new Set([...actual.keys(), ...predicted.keys()])) {
      const [one, other] = [actual.get(id), predicted.get(id)]
      if (isDeepStrictEqual(one, other)) continue
      return describeDifference('rows', `${JSON.stringify(one)}`, `${JSON.stringify(other)}`)
    }
  }
  return undefined
}
