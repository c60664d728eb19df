import type { DataModel, DelegateOf, Model, OwnedModel } from './data-model.ts'
import { defineExtension, getExtensionContext, type Types } from './prisma.ts'
import type { Aggregate, AggregateArguments, AggregateOf, Group, GroupsOf } from './read/aggregate.ts'
import type { Loaders } from './read/loaders.ts'
import { one } from './read/relation.ts'
import type { ReadArguments } from './read/selected.ts'
import { type ModelWrites, writes } from './write/model-writes.ts'
import type { Writer } from './write/owned-rows.ts'

// An extension of Prisma Client (https://www.prisma.io/docs/orm/prisma-client/client-extensions/model). Its models have
// the methods and the types of Prisma Client, but read as loaders do (read/loaders.ts): one statement for a tree of
// relations, with the owner in it. Writes have them too (write/model-writes.ts). Prisma's
// own engine runs no statement of them.

type ReadArgumentsOf<M extends Model> = Pick<
  Types.Public.Args<DelegateOf<M>, 'findMany'>,
  keyof ReadArguments & keyof Types.Public.Args<DelegateOf<M>, 'findMany'>
>

/** Makes an argument that is not supported an error. */
type Only<A, M extends Model> = { readonly [Name in Exclude<keyof A, keyof ReadArgumentsOf<M>>]: never }

export interface ModelReads<M extends Model> {
  /** Reads rows. `take` is required and at most 500, because an owner can have any number of rows. */
  findMany<const A extends ReadArgumentsOf<M>>(
    args: A & Only<A, M> & { readonly take: number },
  ): Promise<Types.Public.Result<DelegateOf<M>, A, 'findMany'>>
  /** Reads the first row; null if there is none. */
  findFirst<const A extends Omit<ReadArgumentsOf<M>, 'take'>>(
    args: A & Only<A, M>,
  ): Promise<Types.Public.Result<DelegateOf<M>, A, 'findFirst'>>
  count(args?: { readonly where?: ReadArgumentsOf<M>['where'] }): Promise<number>
  /** Counts rows and values, and returns their sum, average, minimum and maximum. */
  aggregate<const A extends AggregateOf<M>>(
    args: A & { readonly [Name in Exclude<keyof A, keyof AggregateOf<M>>]: never },
  ): Promise<Aggregate<M, A>>
  /** The same for each group of rows. `take` is required and at most 500. */
  groupBy<const A extends GroupsOf<M>>(
    args: A & { readonly [Name in Exclude<keyof A, keyof GroupsOf<M>>]: never },
  ): Promise<Group<M, A>[]>
}

/** Prisma Client for one viewer: it reads and writes what belongs to an owner. */
export type ViewerClient = { readonly [M in OwnedModel as Uncapitalize<M>]: ModelReads<M> & ModelWrites<M> }

/** What the statements of a client are sent by, and whose rows they are about. */
export interface ViewerRows extends Pick<Writer, 'sql' | 'owner'> {
  readonly loaders: Loaders
}

/** The field of a document whose plan a selection stands for. A layer such as pothos-trees sets it. */
export const plannedField = Symbol('plannedField')

interface PlannedSelect {
  readonly [plannedField]?: object
}

/** What a method of the extension finds in its delegate. */
interface Delegate {
  readonly $name: Model
  readonly viewer?: ViewerRows
}

function delegateOf(context: unknown): {
  readonly model: Model
  readonly viewer: ViewerRows
  readonly loaders: Loaders
} {
  const { $name, viewer } = context as Delegate
  if (!viewer) throw new Error('Use the client of a viewer: client.of({ sql, owner, loaders })')
  return { model: $name, viewer, loaders: viewer.loaders }
}

/** The loaders that follow the plan of the document, if the arguments have it. */
function planned(loaders: Loaders, { select }: ReadArguments): Loaders | undefined {
  const field = (select as PlannedSelect | undefined)?.[plannedField]
  return field && loaders.at(field)
}

/** The id, if nothing else is asked for. Reads of an id are batched. */
function idIn({ where, orderBy }: ReadArguments): string | undefined {
  const { id, ...others } = (where ?? {}) as { readonly id?: unknown }
  return typeof id === 'string' && orderBy === undefined && Object.keys(others).length === 0 ? id : undefined
}

async function findMany(this: unknown, args: ReadArguments): Promise<unknown[]> {
  const { model, loaders } = delegateOf(this)
  const follow = planned(loaders, args)
  const rows = follow ? await follow.list(model, follow.requestOf(model, args)) : await loaders.find(model, args)
  return rows.slice(0, args.take)
}

function findFirst(this: unknown, args: ReadArguments): unknown {
  const { model, loaders } = delegateOf(this)
  const follow = planned(loaders, args)
  const id = idIn(args)
  if (follow && id !== undefined) return follow.load(one<Model>(model, 'id'), id)
  return findMany.call(this, { ...args, take: 1 }).then(([first = null]) => first)
}

function count(this: unknown, { where = {} }: ReadArguments = {}): Promise<number> {
  const { model, loaders } = delegateOf(this)
  return loaders.count(model, where)
}

async function aggregate(this: unknown, args: AggregateArguments): Promise<unknown> {
  const { model, loaders } = delegateOf(this)
  return (await loaders.aggregate(model, args))[0]
}

function groupBy(this: unknown, args: AggregateArguments): Promise<unknown[]> {
  const { model, loaders } = delegateOf(this)
  return loaders.aggregate(model, { ...args, by: args.by ?? [] })
}

/** Not needed yet, and what to use instead. A write of all rows that meet a condition could be one of any number. */
const unsupported = {
  findUnique: 'findFirst',
  findUniqueOrThrow: 'findFirst',
  findFirstOrThrow: 'findFirst',
  updateMany: 'updateEach',
  updateManyAndReturn: 'updateEach',
  upsert: 'createManyAndReturn` with `skipDuplicates',
  deleteMany: 'deleteEach',
} as const

function refuse([operation, instead]: [string, string]) {
  return function refused(this: unknown): never {
    const { $name } = this as Delegate
    throw new Error(`\`${operation}\` of ${$name} is not supported by the client of a viewer: use \`${instead}\``)
  }
}

function writing(model: DataModel, write: (writer: Writer, model: Model, args: never) => Promise<unknown>) {
  return function written(this: unknown, args: never): Promise<unknown> {
    const { model: of, viewer } = delegateOf(this)
    return write({ sql: viewer.sql, owner: viewer.owner, model }, of, args)
  }
}

function methodsFor(model: DataModel) {
  return {
    ...Object.fromEntries(Object.entries(unsupported).map((entry) => [entry[0], refuse(entry)])),
    ...Object.fromEntries(Object.entries(writes).map(([name, write]) => [name, writing(model, write)])),
    findMany,
    findFirst,
    count,
    aggregate,
    groupBy,
  }
}

/**
 * The extension. `prisma.$extends(trees(model)).of({ sql, owner, loaders })` is the client of a viewer.
 *
 * @param model the data model of the generated client
 */
export function trees(model: DataModel) {
  const methods = methodsFor(model)
  const classes = new WeakMap<Delegates, ClientClass>()
  return defineExtension({
    name: 'trees',
    model: { $allModels: methods },
    client: {
      of(viewer: ViewerRows): ViewerClient {
        const extended = getExtensionContext(this) as never
        const Client = classes.get(extended) ?? createClass(extended, model, methods)
        classes.set(extended, Client)
        return new Client(viewer) as never
      },
    },
  })
}

type Delegates = Readonly<Record<string, object>>
type ClientClass = new (viewer: ViewerRows) => object

/**
 * Creates the class of the clients of viewers, once for an extended client. Their delegates inherit those of the extended
 * client, and are made when they are used: `$extends` would cost sixty times as much for each request. The methods of
 * the extension are found without Prisma's proxies.
 */
function createClass(extended: Delegates, model: DataModel, methods: object): ClientClass {
  class Client {
    readonly viewer: ViewerRows
    constructor(viewer: ViewerRows) {
      this.viewer = viewer
    }
  }
  for (const $name of model.models) {
    if (model($name).owner === undefined) continue
    const name = $name.charAt(0).toLowerCase() + $name.slice(1)
    class Delegate {
      readonly viewer: ViewerRows
      constructor(viewer: ViewerRows) {
        this.viewer = viewer
      }
    }
    Object.assign(Delegate.prototype, { $name, ...methods })
    Object.setPrototypeOf(Delegate.prototype, extended[name] as object)
    Object.defineProperty(Client.prototype, name, {
      get(this: Client) {
        return new Delegate(this.viewer)
      },
    })
  }
  return Client
}
