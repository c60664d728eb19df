import { invalidField } from '@fusion-gateway/base'
import { type ConnectionArguments, deprecatedFields, pointsOfScan, readPageById } from '@fusion-gateway/pothos-trees'
import { builder } from '../builder.ts'
import {
  type DailyUsage,
  type FieldUsage as FieldUsageRow,
  isUsageId,
  type OperationUsage as OperationUsageRow,
  type UsageSelection,
} from './read-usage.ts'
import { quantileOf } from './usage-counts.ts'

const UsageCounts = builder.interfaceRef<OperationUsageRow>('UsageCounts').implement({
  scope: 'inherited',
  description: 'The requests of one client of a key for one operation.',
  fields: (t) => ({
    keyId: t.exposeID('keyId', { description: 'The API key, or the key or trusted issuer that created the token.' }),
    keyName: t.exposeString('keyName', {
      nullable: true,
      description: 'The name of the key. Null if the key no longer exists, and for a trusted issuer.',
    }),
    clientName: t.exposeString('clientName', {
      nullable: true,
      description:
        'What the client sent as `graphql-client-name` or `apollographql-client-name`, at most 100 characters. `webhook`: queries of webhooks. `(other)`: more clients and operations in a day than are counted apart.',
    }),
    clientVersion: t.exposeString('clientVersion', {
      nullable: true,
      description: 'The version that the client sent.',
    }),
    operationName: t.exposeString('operationName', {
      nullable: true,
      description: 'The name of the operation. `(invalid)`: documents with errors. `(other)`: see `clientName`.',
    }),
    operationHash: t.exposeString('operationHash', {
      nullable: true,
      description: 'The SHA-256 of the document. Null for `(invalid)` and `(other)`.',
    }),
    requests: t.field({ type: 'SafeInt', description: 'The number of requests.', resolve: ({ requests }) => requests }),
    errors: t.field({ type: 'SafeInt', description: 'How many of them had errors.', resolve: ({ errors }) => errors }),
    points: t.field({ type: 'SafeInt', description: 'What they cost.', resolve: ({ points }) => points }),
    p50: t.float({
      description: 'The median of their durations, in milliseconds, to within a fifth.',
      resolve: ({ durations }) => quantileOf(0.5, durations),
    }),
    p95: t.float({
      description: 'The duration that 95 % of them did not exceed, in milliseconds, to within a fifth.',
      resolve: ({ durations }) => quantileOf(0.95, durations),
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      description: 'The time of the last request, to within a minute.',
    }),
  }),
})

const Usage = builder.objectRef<DailyUsage>('Usage').implement({
  scope: 'inherited',
  description: 'The requests of one client of a key for one operation on a day.',
  interfaces: [UsageCounts],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id.' }),
    day: t.field({ type: 'Date', description: 'The day, in UTC.', resolve: ({ day }) => new Date(day) }),
    fields: t.exposeStringList('fields', {
      description: 'The fields of the schema that the operation selects: `User.email`.',
    }),
  }),
})

const OperationUsage = builder.objectRef<OperationUsageRow>('OperationUsage').implement({
  scope: 'inherited',
  description: 'The requests of one client of a key for one operation on several days.',
  interfaces: [UsageCounts],
})

interface FieldUsageValue extends FieldUsageRow {
  readonly deprecationReason: string | null
}

const FieldUsage = builder.objectRef<FieldUsageValue>('FieldUsage').implement({
  scope: 'inherited',
  description: 'The requests that selected a field of the schema.',
  fields: (t) => ({
    field: t.exposeString('field', { description: 'The field: `User.email`.' }),
    requests: t.field({
      type: 'SafeInt',
      description: 'The number of requests whose operation selects it.',
      resolve: ({ requests }) => requests,
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time of the last request, to within a minute. Null if there was none.',
    }),
    deprecationReason: t.exposeString('deprecationReason', {
      nullable: true,
      description: 'Why the field is deprecated. Null if it is not.',
    }),
  }),
})

type UsageRange = Pick<UsageSelection, 'from' | 'to'>

interface UsageArguments extends ConnectionArguments {
  readonly from?: Date | null | undefined
  readonly to?: Date | null | undefined
}

const dayMilliseconds = 86_400_000
const maxDays = 366

/** @throws GatewayError BAD_USER_INPUT if the range ends before it starts, or is too long */
function readRange({ from, to }: UsageArguments): UsageRange {
  const days = from ? ((to?.getTime() ?? Date.now()) - from.getTime()) / dayMilliseconds : 0
  if (to && days < 0) throw invalidField('from', 'OUT_OF_RANGE', 'is after to')
  if (days > maxDays) throw invalidField('from', 'OUT_OF_RANGE', `is more than ${maxDays} days before to`)
  return { from: from?.toISOString().slice(0, 10), to: to?.toISOString().slice(0, 10) }
}

const maxOperations = 500

const rangeOf = (connection: unknown) => (connection as { readonly range: UsageRange }).range

builder.queryField('usage', (t) =>
  t.connection(
    {
      type: Usage,
      scope: 'usage:read',
      description:
        'Lists who has requested what of your tenant, the newest day first. Requests appear within a minute, and are kept for the number of days that the operator has chosen.',
      args: {
        from: t.arg({ type: 'Date', description: 'The first day, in UTC. By default 29 days before `to`.' }),
        to: t.arg({ type: 'Date', description: 'The last day, in UTC. By default the current one.' }),
      },
      async resolve(_, args, context) {
        const range = readRange(args)
        const selection = { ...range, tenantAppId: context.viewer.tenantAppId }
        const page = await readPageById(args, { isId: isUsageId, name: 'a cursor of usage' }, (window) =>
          context.readUsage(context, (usage) => usage.page({ ...selection, ...window })),
        )
        return { ...page, range }
      },
    },
    {
      name: 'UsageConnection',
      scope: 'inherited',
      description: 'A page of usage.',
      fields: (connection) => ({
        operations: connection.field({
          type: [OperationUsage],
          description: `The sums over all days from \`from\` to \`to\`, most requests first, at most ${maxOperations}.`,
          cost: { extra: () => pointsOfScan },
          resolve: (parent, _, context) => {
            const selection = { ...rangeOf(parent), tenantAppId: context.viewer.tenantAppId }
            return context.readUsage(context, (usage) => usage.operations(selection, maxOperations))
          },
        }),
        fields: connection.field({
          type: [FieldUsage],
          description:
            'The fields of the schema that were selected from `from` to `to`, most requests first, and then the deprecated ones that were not.',
          cost: { extra: () => pointsOfScan },
          async resolve(parent, _, context, { schema }) {
            const { tenantAppId } = context.viewer
            const used = await context.readUsage(context, (usage) => usage.fields({ ...rangeOf(parent), tenantAppId }))
            const deprecated = deprecatedFields(schema)
            const rows = used.map((row) => ({ ...row, deprecationReason: deprecated.get(row.field) ?? null }))
            for (const { field } of used) deprecated.delete(field)
            const unused = [...deprecated].map(([field, deprecationReason]) => ({ field, deprecationReason }))
            return [...rows, ...unused.map((row) => ({ ...row, requests: 0, lastUsedAt: null }))]
          },
        }),
      }),
    },
    { name: 'UsageEdge', scope: 'inherited', description: 'One of the rows of usage and its cursor.' },
  ),
)
