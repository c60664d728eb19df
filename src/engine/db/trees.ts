import type { Model } from './data-model.ts'
import { Prisma, type PrismaClient } from './generated/prisma/client.ts'
import type { Loaders } from './read/loaders.ts'
import { one } from './read/relation.ts'
import type { ReadArguments } from './read/selected.ts'

// An extension of Prisma Client (https://www.prisma.io/docs/orm/prisma-client/client-extensions/model). Its models have
// the methods and the types of Prisma Client, but read as loaders do (read/loaders.ts): one statement for a tree of
// relations, with the tenant and the user of the viewer in it. Prisma's own engine runs no statement of them.

/** The model of a delegate of Prisma Client. */
type DelegateOf<M extends Model> = PrismaClient[Uncapitalize<M>]

type ReadArgumentsOf<M extends Model> = Pick<
  Prisma.Args<DelegateOf<M>, 'findMany'>,
  keyof ReadArguments & keyof Prisma.Args<DelegateOf<M>, 'findMany'>
>

/** Makes an argument that is not supported an error. */
type Only<A, M extends Model> = { readonly [Name in Exclude<keyof A, keyof ReadArgumentsOf<M>>]: never }

/** The reads of a model, with the types of Prisma Client. */
export interface ModelReads<M extends Model> {
  /** Reads rows. `take` is required and at most 500, because a tenant can have any number of rows. */
  findMany<const A extends ReadArgumentsOf<M>>(
    args: A & Only<A, M> & { readonly take: number },
  ): Promise<Prisma.Result<DelegateOf<M>, A, 'findMany'>>
  /** Reads the first row; null if there is none. */
  findFirst<const A extends Omit<ReadArgumentsOf<M>, 'take'>>(
    args: A & Only<A, M>,
  ): Promise<Prisma.Result<DelegateOf<M>, A, 'findFirst'>>
  /** Counts rows. */
  count(args?: { readonly where?: ReadArgumentsOf<M>['where'] }): Promise<number>
}

/** Prisma Client for one viewer: it reads only what the viewer may see. */
export type ViewerClient = { readonly [M in Model as Uncapitalize<M>]: ModelReads<M> }

/** The field of a document whose plan a selection stands for. Pothos' plugin sets it (graphql/schema). */
export const plannedField = Symbol('plannedField')

interface PlannedSelect {
  readonly [plannedField]?: object
}

/** What a method of the extension finds in its delegate. */
interface Delegate {
  readonly $name: Model
  readonly loaders?: Loaders
}

function delegateOf(context: unknown): { readonly model: Model; readonly loaders: Loaders } {
  const { $name, loaders } = context as Delegate
  if (!loaders) throw new Error('Use the client of a viewer: client.of(loaders)')
  return { model: $name, loaders }
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
  if (follow && id !== undefined) return follow.load(one(model, 'id' as never), id)
  return findMany.call(this, { ...args, take: 1 }).then(([first = null]) => first)
}

function count(this: unknown, { where = {} }: ReadArguments = {}): Promise<number> {
  const { model, loaders } = delegateOf(this)
  return loaders.count(model, where)
}

/** Writes are rows of the services (db/write), and other reads are not needed yet. */
const unsupported = [
  'findUnique',
  'findUniqueOrThrow',
  'findFirstOrThrow',
  'create',
  'createMany',
  'createManyAndReturn',
  'update',
  'updateMany',
  'updateManyAndReturn',
  'upsert',
  'delete',
  'deleteMany',
  'aggregate',
  'groupBy',
] as const

function refuse(operation: string) {
  return function refused(this: unknown): never {
    const { $name } = this as Delegate
    throw new Error(`\`${operation}\` of ${$name} is not supported by the client of a viewer`)
  }
}

const methods = {
  ...Object.fromEntries(unsupported.map((operation) => [operation, refuse(operation)])),
  findMany,
  findFirst,
  count,
}

/** The extension. `prisma.$extends(trees).of(loaders)` is the client of the viewer whose loaders they are. */
export const trees = Prisma.defineExtension({
  name: 'trees',
  model: { $allModels: methods },
  client: {
    of(loaders: Loaders): ViewerClient {
      const extended = Prisma.getExtensionContext(this) as never
      return new (classOf(extended))(loaders) as never
    },
  },
})

type Delegates = Readonly<Record<string, object>>
type ClientClass = new (loaders: Loaders) => object

const classes = new WeakMap<Delegates, ClientClass>()

/**
 * The class of the clients of viewers, made once for an extended client. Their delegates inherit those of the extended
 * client, and are made when they are used: `$extends` would cost sixty times as much for each request. The methods of
 * the extension are found without Prisma's proxies.
 */
function classOf(extended: Delegates): ClientClass {
  const known = classes.get(extended)
  if (known) return known
  class Client {
    readonly loaders: Loaders
    constructor(loaders: Loaders) {
      this.loaders = loaders
    }
  }
  for (const $name of Object.values(Prisma.ModelName)) {
    const name = $name.charAt(0).toLowerCase() + $name.slice(1)
    class Delegate {
      readonly loaders: Loaders
      constructor(loaders: Loaders) {
        this.loaders = loaders
      }
    }
    Object.assign(Delegate.prototype, { $name, ...methods })
    Object.setPrototypeOf(Delegate.prototype, extended[name] as object)
    Object.defineProperty(Client.prototype, name, {
      get(this: Client) {
        return new Delegate(this.loaders)
      },
    })
  }
  classes.set(extended, Client)
  return Client
}
