import type { Numbers } from './numbers.ts'
import {
  contactOf,
  displayNameOf,
  emailOf,
  jobIdOf,
  nameOf,
  numbersOf,
  type Person,
  phoneOf,
  progressOf,
  type Tenant,
  type Viewer,
} from './people.ts'

/** What is wrong with a response. */
export interface Problem {
  /** `stale`: what was true before the request. `wrong`: what was never true, or must not be shown to the viewer. */
  readonly kind: 'stale' | 'wrong'
  readonly text: string
}

/** A JSON value of a response. */
// biome-ignore lint/suspicious/noExplicitAny: what a response has is checked field by field
export type Json = any

/** What a read may show: it notes what is true when it is created, and checks values when the response has arrived. */
export class Observation {
  readonly problems: Problem[] = []
  /**
   * Whether a row was deleted between two statements of the read, so that the response has an error. A read without
   * some of the scopes takes several statements.
   */
  isTorn = false
  /** The numbers that were shown. Of what was absent, the earliest that its deletion can have. */
  readonly shown = new Map<Numbers, number>()
  private readonly floors = new Map<Numbers, number>()
  private readonly viewer: Viewer
  private readonly place: string | undefined

  /**
   * @param place where all reads see the same: later reads must not show less than earlier ones
   * @param floorOf the earliest number that the read may show
   */
  constructor(viewer: Viewer, place: string | undefined, floorOf = (numbers: Numbers) => numbers.floor(place)) {
    this.viewer = viewer
    this.place = place
    for (const person of this.visible())
      for (const numbers of numbersOf(person)) this.floors.set(numbers, floorOf(numbers))
  }

  /** The people that the viewer may see. */
  visible(): readonly Person[] {
    const { boundTo, tenant } = this.viewer
    return boundTo ? [boundTo] : tenant.people
  }

  private report(kind: Problem['kind'], text: string): void {
    this.problems.push({ kind, text })
  }

  tear(): void {
    this.isTorn = true
  }

  wrong(text: string): void {
    this.report('wrong', text)
  }

  private floorOf(numbers: Numbers): number {
    const floor = this.floors.get(numbers)
    if (floor === undefined) throw new Error('The viewer cannot see the value')
    return floor
  }

  /** Checks whether a row may be absent, or present. */
  presence(what: string, numbers: Numbers, isPresent: boolean): void {
    const floor = this.floorOf(numbers)
    const may = isPresent ? numbers.mayBePresent(floor) : numbers.mayBeAbsent(floor)
    const gone = numbers.candidates(floor).find((number) => numbers.isGone(number))
    if (!isPresent && gone !== undefined) this.shown.set(numbers, gone)
    if (!may) this.report('stale', `${what} is ${isPresent ? 'present' : 'absent'}: ${numbers.describe(floor)}`)
  }

  /** Checks a number that is shown. */
  number(what: string, numbers: Numbers, number: number): void {
    const floor = this.floorOf(numbers)
    this.shown.set(numbers, number)
    if (numbers.mayBe(number, floor)) numbers.see(number, this.place)
    else this.report(number < floor ? 'stale' : 'wrong', `${what} has ${number}: ${numbers.describe(floor)}`)
  }

  /** Checks a text whose last number is shown. */
  private text(what: string, numbers: Numbers, text: unknown, textOf: (number: number) => string): void {
    const number = Number(/(\d+)(?:@.*)?$/.exec(String(text))?.[1])
    if (text !== textOf(number)) this.report('wrong', `${what} is ${JSON.stringify(text)}`)
    else this.number(what, numbers, number)
  }

  /** The person of an id, if the viewer may see it. */
  find(field: 'userId' | 'accountId' | 'profileId', id: unknown): Person | undefined {
    const person = this.visible().find((one) => one[field] === id)
    if (!person) this.wrong(`${id} is shown`)
    return person
  }

  private contacts(what: string, value: unknown, check: () => void): void {
    if (this.viewer.seesContacts) check()
    else if (value !== null && value !== undefined)
      this.wrong(`${what} is shown without its scope: ${JSON.stringify(value)}`)
  }

  /** Checks a user: only the fields that are selected. */
  user(person: Person, user: Json): void {
    const { userId, name, contact } = person
    if (user?.id !== undefined && user.id !== userId) this.wrong(`${user.id} is shown as ${userId}`)
    this.presence(userId, name, user != null)
    if (user == null) return
    this.text(`the name of ${userId}`, name, user.name, (number) => nameOf(person, number))
    if ('phone' in user) {
      this.contacts(`the phone of ${userId}`, user.phone, () => {
        this.text(`the phone of ${userId}`, contact, user.phone, (number) => phoneOf(person, number))
        const number = Number(/\d+$/.exec(user.phone)?.[0])
        if (user.email !== contactOf(person, number)) this.wrong(`${userId} has ${user.email} and ${user.phone}`)
      })
      this.contacts(`the email of ${userId}`, user.email, () => undefined)
    }
    if (!('accounts' in user)) return
    const [account, ...others] = user.accounts ?? []
    if (others.length > 0) this.wrong(`${userId} has ${others.length + 1} accounts`)
    this.account(person, account)
  }

  account(person: Person, account: Json): void {
    const { accountId, account: numbers } = person
    if (account?.id !== undefined && account.id !== accountId) this.wrong(`${account.id} is shown as ${accountId}`)
    this.presence(accountId, numbers, account != null)
    if (account == null) return
    const displayName = account.displayName ?? account.display_name
    this.text(`the name of ${accountId}`, numbers, displayName, (number) => displayNameOf(person, number))
    if ('profile' in account) this.profile(person, account.profile)
    if ('user' in account) this.user(person, account.user)
  }

  profile(person: Person, profile: Json): void {
    const { profileId, profile: numbers, email } = person
    if (profile?.id !== undefined && profile.id !== profileId) this.wrong(`${profile.id} is shown as ${profileId}`)
    this.presence(profileId, numbers, profile != null)
    if (profile == null) return
    const followers = profile.followersCount ?? profile.followers_count
    this.number(`the followers of ${profileId}`, numbers, followers)
    if ('account' in profile) this.account(person, profile.account)
    if (!('emails' in profile)) return
    this.contacts(`the emails of ${profileId}`, profile.emails, () => {
      const [first, ...others] = profile.emails
      if (others.length > 0) this.wrong(`${profileId} has ${others.length + 1} emails`)
      this.presence(`the email of ${profileId}`, email, first !== undefined)
      if (first) this.text(`the email of ${profileId}`, email, first.value, (number) => emailOf(person, number))
    })
  }

  /** Checks a list of all rows that the viewer may see, and their number. */
  list(level: 'user' | 'account' | 'profile', rows: Json, totalCount?: unknown): void {
    const field = `${level}Id` as const
    const found = new Map<Person, Json>()
    for (const row of rows) {
      const person = this.find(field, row.id)
      if (person && found.has(person)) this.wrong(`${row.id} is shown twice`)
      if (person) found.set(person, row)
    }
    for (const person of this.visible()) this[level](person, found.get(person))
    if (totalCount !== undefined) this.count(level, totalCount)
  }

  /** Checks the jobs of the tenant, and their number, which is counted by a statement of its own. */
  jobs(rows: Json, totalCount: unknown): void {
    const found = new Map<unknown, Json>(rows.map((row: Json) => [row.id, row]))
    if (found.size !== rows.length) this.wrong('a job is shown twice')
    for (const person of this.visible()) {
      const id = jobIdOf(person)
      const row = found.get(id)
      this.presence(id, person.job, row !== undefined)
      if (!row) continue
      found.delete(id)
      const number = Math.round(row.progress * 1_000_000)
      if (row.progress === progressOf(number)) this.number(`the progress of ${id}`, person.job, number)
      else this.wrong(`the progress of ${id} is ${row.progress}`)
    }
    for (const id of found.keys()) this.wrong(`${id} is shown`)
    this.count('job', totalCount)
  }

  /** Checks how many rows there are. */
  count(level: 'user' | 'account' | 'profile' | 'job', count: unknown): void {
    const all = this.visible().map((person) => person[level === 'user' ? 'name' : level])
    const least = all.filter((numbers) => !numbers.mayBeAbsent(this.floorOf(numbers))).length
    const most = all.filter((numbers) => numbers.mayBePresent(this.floorOf(numbers))).length
    if (!(Number(count) >= least && Number(count) <= most))
      this.report('stale', `${count} rows of ${level}, not ${least} to ${most}`)
  }

  /** Checks the sum of the followers. */
  sum(sum: unknown): void {
    const bounds = this.visible().map(({ profile }) => {
      const candidates = profile.candidates(this.floorOf(profile))
      const values = candidates.map((number) => (profile.isGone(number) ? 0 : number))
      return [Math.min(...values), Math.max(...values)] as const
    })
    const [least, most] = [0, 1].map((index) => bounds.reduce((total, bound) => total + (bound[index] ?? 0), 0))
    if (!(Number(sum) >= Number(least) && Number(sum) <= Number(most)))
      this.report('stale', `${sum} followers, not ${least} to ${most}`)
  }

  /** Checks the users with an email address. They are counted by a statement of its own. */
  usersWith(address: string, rows: Json, totalCount: unknown): void {
    let [least, most] = [0, 0]
    for (const person of this.visible()) {
      const { contact, userId } = person
      const row = rows.find(({ id }: Json) => id === userId)
      const possible = contact.candidates(this.floorOf(contact))
      const matches = possible.map((number) => !contact.isGone(number) && contactOf(person, number) === address)
      least += matches.includes(false) ? 0 : 1
      most += matches.includes(true) ? 1 : 0
      if (!matches.includes(row !== undefined)) {
        const text = `the users with ${address} are ${row ? 'with' : 'without'} ${userId}`
        this.report('stale', `${text}: ${contact.describe(this.floorOf(contact))}`)
      }
      if (row) this.user(person, { name: row.name })
    }
    for (const { id } of rows) this.find('userId', id)
    if (!(Number(totalCount) >= least && Number(totalCount) <= most))
      this.report('stale', `${totalCount} users with ${address}, not ${least} to ${most}`)
  }
}

/** Whether a text has the mark of another tenant. */
export function marksOfOthers({ mark }: Tenant, text: string): string[] {
  return Array.from(text.matchAll(/\btenant\d+\b/g), ([found]) => found).filter((found) => found !== mark)
}
