import type { SentUser } from './ledger.ts'

/** A user as the clients read it. */
export interface ShownUser {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly accounts: readonly {
    readonly platformAccountId: string
    readonly profile: { readonly username: string; readonly emails: readonly { readonly value: string }[] } | null
  }[]
}

export const userFields = 'id name email accounts { platformAccountId profile { username emails { value } } }'

const fields = ['name', 'account', 'profile'] as const

/** How many versions of each field are certainly stored or replaced. */
export type Certainty = Readonly<Record<(typeof fields)[number], number>>

/** What is certain about a user now. Read it before the user. */
export function certaintyOf({ name, account, profile }: SentUser): Certainty {
  return { name: name.certain(), account: account.certain(), profile: profile.certain() }
}

/** The position of the stored version of each field; undefined for a field whose value is lost or was never sent. */
export function positionsOf(user: SentUser, { name, accounts }: ShownUser, certainty: Certainty) {
  const [account] = accounts
  const { username, emails } = account?.profile ?? {}
  const profile = emails && [username, ...emails.map(({ value }) => value)].join(' ')
  return {
    name: user.name.position(name, certainty.name),
    account: accounts.length > 1 ? undefined : user.account.position(account?.platformAccountId, certainty.account),
    profile: user.profile.position(profile, certainty.profile),
  }
}

/**
 * Compares an acknowledged user with what was read.
 *
 * @returns a description of each problem
 */
export function compareUser(user: SentUser, shown: ShownUser | null, certainty: Certainty): string[] {
  if (!shown) return [`${user.id} was acknowledged and is missing`]
  if (shown.id !== user.id || shown.email !== user.email) return [`${user.id} is shown as ${JSON.stringify(shown)}`]
  const positions = positionsOf(user, shown, certainty)
  return fields
    .filter((field) => positions[field] === undefined)
    .map((field) => `${user.id} has a ${field} that cannot be: ${JSON.stringify(shown)}`)
}
