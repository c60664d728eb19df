import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { GatewayError, recordOf, type Scope } from '@fusion-gateway/base'
import type { Context } from '@fusion-gateway/gateway-kit'
import {
  choiceArguments,
  costOfList,
  defaultPageSize,
  type List,
  plannedLoaders,
  readListArguments,
} from '@fusion-gateway/pothos-trees'
import { type Model, maxPageSize, type SelectedRow, windowOf } from '@fusion-gateway/prisma-trees'
import type { ExecutionResult, GraphQLError } from 'graphql'
import { builder } from '../builder.ts'
import { loggedModels, modelsOf } from './change-log.ts'
import type { Event } from './event.ts'
import { type LiveValues, liveValues } from './live.ts'

/** What a client that has the page before gets of the next one. */
interface ListChange {
  /** All rows of the page. The fields of all are read; those that have not changed are left out afterwards. */
  readonly rows: readonly SelectedRow<Model>[]
  readonly removedIds: readonly string[]
  readonly order: readonly string[]
}

/**
 * Defines the subscription to the first page of a list: `defineLiveList('users', users, 'users:read')` ⇒
 * `subscription { users(filter, orderBy, thenBy, first): UserListChange! }`.
 */
export function defineLiveList(name: string, list: List, scope: Scope): void {
  const { model, type, plural } = list
  const Change = builder.objectRef<ListChange>(`${model}ListChange`).implement({
    scope: 'inherited',
    description: `What has changed in a page of ${plural}.`,
    fields: (t) => ({
      [plural]: t.field({
        type: [type],
        description: `The ${plural} that are new in the page, or of which a selected field has changed, also of an object below. All of the page at first.`,
        resolve: ({ rows }) => [...rows],
      }),
      removedIds: t.idList({
        description: `The ids of the ${plural} that are no longer in the page.`,
        resolve: ({ removedIds }) => [...removedIds],
      }),
      order: t.idList({
        description: 'The ids of the whole page, in its order.',
        resolve: ({ order }) => [...order],
      }),
    }),
  })

  builder.subscriptionField(name, (t) =>
    t.field({
      type: Change,
      scope,
      description:
        `Sends the first page of your tenant's ${plural}, and then what has entered, left, moved or changed in it: at most once a second, and nothing ` +
        'after changes that do not concern the page. A client that subscribes again gets the whole page.',
      root: { model },
      cost: costOfList(list),
      args: {
        ...choiceArguments(t, list),
        first: t.arg.int({
          description: `The number of ${plural} in the page: 0–${maxPageSize}. ${defaultPageSize} by default.`,
        }),
      },
      subscribe(_, args, context) {
        // Rejects arguments before anything is followed.
        readListArguments(args, list, context)
        return followPage(context)
      },
      async resolve(page: LivePage, args, context, info) {
        const { page: request, where } = readListArguments(args, list, context)
        const rows = await plannedLoaders(context, info).list(model, { where, ...windowOf(request) })
        return page.read(rows.slice(0, request.size))
      },
    }),
  )
}

/** How long a list is not read again after it was read, however much changes. */
const restSeconds = 1

/** The share of a minute's points that lists leave to other requests. With less left, they wait for the next minute. */
const shareOfOthers = 1 / 2

/** Follows the log for a page. Its values say that the page may have changed, and that reading it is paid. */
async function followPage({ viewer, events, subscription }: Context): Promise<LiveValues<LivePage>> {
  const { userId } = viewer
  const follower = await events.follow(viewer)
  const models = subscription?.modelsOf(loggedModels) ?? loggedModels
  // What belongs to the user of a token depends on the accounts in between too.
  const concerns = (event: Event) =>
    userId === undefined ? modelsOf[event.type]?.some((model) => models.has(model)) === true : event.userId === userId

  /** Takes the points for reading the page, when there are enough. Returns how long the page is not read again. */
  async function pay(): Promise<number> {
    while (!follower.hasEnded) {
      try {
        const budget = await subscription?.reserve()
        const isShort = budget && budget.remaining < shareOfOthers * budget.points
        return isShort ? Math.max(restSeconds, budget.resetSeconds) : restSeconds
      } catch (error) {
        const isLimited = error instanceof GatewayError && error.code === 'RATE_LIMITED'
        const seconds = isLimited ? Number(error.headers['retry-after']) : Number.NaN
        if (Number.isNaN(seconds)) throw error
        await follower.skipUntil(performance.now() + seconds * 1_000)
        follower.requireFeed()
      }
    }
    return restSeconds
  }

  const page = new LivePage()
  let restsUntil = performance.now() + restSeconds * 1_000
  return liveValues(follower, {
    first: async () => page,
    async after(written) {
      if (!written.some(concerns)) return []
      await follower.skipUntil(restsUntil)
      const seconds = await pay()
      restsUntil = performance.now() + seconds * 1_000
      return [page]
    },
    changesIn: (result) => page.changesIn(result),
  })
}

/** A page as its client has it: the ids, and of each row a hash of what was sent. */
class LivePage {
  private ids: readonly string[] | undefined
  private order: readonly string[] = []
  private hashes: ReadonlyMap<string, string> = new Map()

  read(rows: ListChange['rows']): ListChange {
    this.order = rows.map(({ id }) => id)
    const ids = new Set(this.order)
    return { rows, order: this.order, removedIds: (this.ids ?? []).filter((id) => !ids.has(id)) }
  }

  /**
   * Leaves out of a result the rows that the client has, and their errors.
   *
   * @param result of the page that was read last. The lists of objects in its change, under whatever names, are the
   *   rows: no other field is one
   */
  changesIn({ data, errors = [], ...rest }: ExecutionResult): ExecutionResult | undefined {
    const [[root, change] = []] = Object.entries((data ?? {}) as Record<string, object>)
    if (root === undefined || change === undefined) throw errors[0]
    const fields = Object.entries(change)
    const lists = fields.flatMap(([, value]) => (isRows(value) ? [value] : []))
    const hashes = this.order.map((_, at) => hash('sha256', JSON.stringify(lists.map((rows) => rows[at])), 'base64'))
    const isChanged = this.order.map((id, at) => this.hashes.get(id) !== hashes[at])
    const isSame = !isChanged.includes(true) && isDeepStrictEqual(this.ids, this.order)
    this.ids = this.order
    this.hashes = new Map(this.order.map((id, at) => [id, hashes[at] as string]))
    if (isSame) return undefined
    const shown = fields.map(([name, value]) => [name, isRows(value) ? value.filter((_, at) => isChanged[at]) : value])
    const moved = movedErrors(errors, isChanged)
    return {
      ...(moved.length > 0 && { errors: moved }),
      data: recordOf([[root, recordOf(shown as [string, unknown][])]]),
      ...rest,
    }
  }
}

function isRows(value: unknown): value is object[] {
  return Array.isArray(value) && typeof value[0] === 'object'
}

/** The errors of the rows that are sent, at the places that these have then. */
function movedErrors(errors: readonly GraphQLError[], isSent: readonly boolean[]): GraphQLError[] {
  let sent = 0
  const places = isSent.map((is) => {
    if (is) sent += 1
    return is ? sent - 1 : undefined
  })
  return errors.flatMap((error) => {
    const [root, list, at, ...below] = error.path ?? []
    if (root === undefined || list === undefined || typeof at !== 'number') return error
    const place = places[at]
    return place === undefined ? [] : Object.assign(Object.create(error), { path: [root, list, place, ...below] })
  })
}
