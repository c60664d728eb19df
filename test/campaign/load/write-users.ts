import type { MarkedTenant } from '../../soak/tenants.ts'
import type { SentUser } from '../ledger.ts'
import { isRow, type Row, type WriterOptions, write } from './write.ts'

const createByGraphQL = `mutation ($input: CreateUserInput!) {
  createUser(input: $input) { user { id name email } userErrors { code } } }`
const link = `mutation ($input: LinkAccountInput!) {
  linkAccount(input: $input) { account { id displayName } userErrors { code } } }`
const sync = `mutation ($input: SyncProfileInput!) {
  syncProfile(input: $input) { profile { id username emails { value } } userErrors { code } } }`

interface GraphQLBody {
  readonly data?: Readonly<Record<string, Readonly<Record<string, Row | null>> | null>>
}

/** The row in the payload of a mutation. */
const payloadRow = (mutation: string, field: string) => (body: GraphQLBody) => body.data?.[mutation]?.[field]

/** Creates users with an account and a profile, and changes them, until the signal aborts. */
export async function writeUsers(options: WriterOptions, tenant: MarkedTenant, signal: AbortSignal): Promise<void> {
  const { client, ledger } = options
  while (!signal.aborted) {
    const user = ledger.createUser(tenant)
    const changes = [syncProfile, changeName, syncProfile, changeName].slice(0, client.random.below(5))
    for (const step of [createUser, linkAccount, ...changes]) {
      // A later write could be overtaken by one that is not acknowledged.
      if (!(await step(options, user))) break
    }
    await client.think()
  }
}

async function createUser(options: WriterOptions, user: SentUser): Promise<boolean> {
  const { tenant, email } = user
  const name = `Ada ${options.ledger.mark('v', tenant)}`
  const input = { name, email, phone: '+1 555 0100' }
  const acknowledge = user.name.send(name)
  const isRest = options.client.random.below(2) === 0
  // One in ten has no idempotency key, and is sent once.
  const idempotencyKey = options.client.random.below(10) > 0 ? `create-${email}` : undefined
  const row = await (isRest
    ? write(options, 'users', { tenant, path: '/users', body: input, idempotencyKey }, (body: Row) => body)
    : write(
        options,
        'users',
        { tenant, path: '/graphql', body: { query: createByGraphQL, variables: { input } }, idempotencyKey },
        payloadRow('createUser', 'user'),
      ))
  if (row === 'refused') user.isRefused = true
  if (!isRow(row)) return false
  if (row['name'] !== name || row['email'] !== email) options.note(`${email} was created as ${JSON.stringify(row)}`)
  user.id = String(row['id'])
  acknowledge()
  await options.client.think()
  return true
}

async function linkAccount(options: WriterOptions, user: SentUser): Promise<boolean> {
  const { tenant, id: userId } = user
  const platformAccountId = options.ledger.mark('channel', tenant)
  const acknowledge = user.account.send(platformAccountId)
  const input = { userId, platform: 'TWITCH', platformAccountId, displayName: 'Ada' }
  const call = { tenant, path: '/graphql', body: { query: link, variables: { input } } }
  const row = await write(
    options,
    'accounts',
    { ...call, idempotencyKey: `link-${platformAccountId}` },
    payloadRow('linkAccount', 'account'),
  )
  if (!isRow(row)) return false
  user.accountId = String(row['id'])
  acknowledge()
  return true
}

async function changeName(options: WriterOptions, user: SentUser): Promise<boolean> {
  const { tenant, id } = user
  const name = `Ada ${options.ledger.mark('v', tenant)}`
  const acknowledge = user.name.send(name)
  const call = { tenant, method: 'PUT' as const, path: `/users/${id}`, body: { name } }
  const row = await write(options, 'names', { ...call, idempotencyKey: name.replace(' ', '-') }, (body: Row) => body)
  if (!isRow(row)) return false
  if (row['name'] !== name) options.note(`${id} was renamed to ${name}: ${JSON.stringify(row)}`)
  acknowledge()
  return true
}

/** Writes a profile with two emails, in one transaction of several statements. */
async function syncProfile(options: WriterOptions, user: SentUser): Promise<boolean> {
  const { tenant, accountId } = user
  const username = options.ledger.mark('u', tenant)
  const emails = ['one', 'two'].map((place) => `${username}@${place}.example.com`)
  const acknowledge = user.profile.send([username, ...emails].join(' '))
  const input = { accountId, username, emails: emails.map((value) => ({ value })) }
  const call = { tenant, path: '/graphql', body: { query: sync, variables: { input } } }
  const row = await write(
    options,
    'profiles',
    { ...call, idempotencyKey: `sync-${username}` },
    payloadRow('syncProfile', 'profile'),
  )
  if (!isRow(row)) return false
  acknowledge()
  return true
}
