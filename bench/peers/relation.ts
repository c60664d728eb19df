// Yoga and Pothos with relations as the documentation of the Prisma plugin shows them: t.prismaField and t.relation.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { PrismaTypes } from '@fusion-gateway/database'
import { getDatamodel, PrismaClient } from '@fusion-gateway/database'
import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import { PrismaPg } from '@prisma/adapter-pg'
import { GraphQLJSONObject } from 'graphql-scalars'
import { createYoga } from 'graphql-yoga'
import { seeded } from '../seeded.js'

const { tenant: tenantAppId, small } = seeded
const prisma = new PrismaClient({
  adapter: new PrismaPg({ connectionString: process.env['DATABASE_URL'] ?? '', max: 10 }),
})
const builder = new SchemaBuilder<{
  PrismaTypes: PrismaTypes
  DefaultFieldNullability: false
  Scalars: { JSON: { Input: object; Output: unknown } }
}>({
  plugins: [PrismaPlugin],
  defaultFieldNullability: false,
  prisma: { client: prisma, dmmf: getDatamodel() },
})
builder.addScalarType('JSON', GraphQLJSONObject as never)

const order = [{ createdAt: 'asc' as const }, { id: 'asc' as const }]

builder.prismaObject('User', {
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    email: t.exposeString('email'),
    phone: t.exposeString('phone', { nullable: true }),
    createdAt: t.string({ resolve: ({ createdAt }) => createdAt.toISOString() }),
    accounts: t.relation('accounts', { query: { orderBy: order } }),
  }),
})
builder.prismaObject('Account', {
  fields: (t) => ({
    id: t.exposeID('id'),
    platform: t.exposeString('platform'),
    displayName: t.exposeString('displayName'),
    profile: t.relation('profile', { nullable: true }),
  }),
})
builder.prismaObject('Profile', {
  fields: (t) => ({
    id: t.exposeID('id'),
    username: t.exposeString('username', { nullable: true }),
    fullName: t.exposeString('fullName', { nullable: true }),
    followersCount: t.float({
      nullable: true,
      resolve: ({ followersCount }) => (followersCount === null ? null : Number(followersCount)),
    }),
    emails: t.relation('emails', { query: { orderBy: order } }),
  }),
})
builder.prismaObject('EmailRecord', {
  fields: (t) => ({
    id: t.exposeID('id'),
    value: t.exposeString('value'),
    isPrimary: t.exposeBoolean('isPrimary'),
  }),
})
builder.prismaObject('Job', {
  fields: (t) => ({
    id: t.exposeID('id'),
    status: t.exposeString('status'),
    jobType: t.exposeString('jobType', { nullable: true }),
    payload: t.field({ type: 'JSON', nullable: true, resolve: ({ payload }) => payload }),
    result: t.field({ type: 'JSON', nullable: true, resolve: ({ result }) => result }),
    attempts: t.exposeInt('attempts'),
  }),
})
builder.queryType({
  fields: (t) => ({
    user: t.prismaField({
      type: 'User',
      nullable: true,
      args: { id: t.arg.id({ required: true }) },
      resolve: (query, _root, { id }) => prisma.user.findFirst({ ...query, where: { tenantAppId, id: String(id) } }),
    }),
    users: t.prismaField({
      type: ['User'],
      args: { first: t.arg.int({ required: true }) },
      resolve: (query, _root, { first }) =>
        prisma.user.findMany({ ...query, where: { tenantAppId }, orderBy: order, take: first }),
    }),
    profiles: t.prismaField({
      type: ['Profile'],
      args: { accountIds: t.arg.idList({ required: true }) },
      resolve: async (query, _root, { accountIds }) => {
        const ids = accountIds.map(String)
        const rows = await prisma.profile.findMany({ ...query, where: { tenantAppId, accountId: { in: ids } } })
        const byAccount = new Map(rows.map((row) => [row.accountId, row]))
        return ids.flatMap((id) => byAccount.get(id) ?? [])
      },
    }),
    job: t.prismaField({
      type: 'Job',
      nullable: true,
      args: { id: t.arg.id({ required: true }) },
      resolve: (query, _root, { id }) => prisma.job.findFirst({ ...query, where: { tenantAppId, id: String(id) } }),
    }),
  }),
})
const UserInput = builder.inputType('UserInput', {
  fields: (t) => ({
    name: t.string({ required: true }),
    email: t.string({ required: true }),
    phone: t.string({ required: true }),
  }),
})
builder.mutationType({
  fields: (t) => ({
    createUser: t.prismaField({
      type: 'User',
      args: { input: t.arg({ type: UserInput, required: true }) },
      resolve: (query, _root, { input }) =>
        prisma.user.create({ ...query, data: { ...input, tenantAppId: small, id: `usr_${randomUUID()}` } }),
    }),
  }),
})

const yoga = createYoga({ schema: builder.toSchema(), logging: false, graphiql: false, landingPage: false })
createServer(yoga).listen(Number(process.env['PORT']), '127.0.0.1', () => void process.stdout.write('ready\n'))
