import { createReadStream } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { OperatorError, ownValue } from '@fusion-gateway/base'
import { type Database, dataModel } from '@fusion-gateway/database'
import { type Sql, statement } from '@fusion-gateway/sql'
import { findByPlatform } from '../domain/account/account.service.ts'
import { readMoment } from '../old-service/moments.ts'
import { groupSize, type Reader, Refused } from '../old-service/reader.ts'
import { type ImportOptions, importFile, type Rejection } from './import.ts'

export interface ServiceImport {
  readonly tenantAppId: string
  readonly reader: Reader
  /** The ids of jobs, which the interface cannot list. */
  readonly jobIds: readonly string[]
  /** Whether nothing is written. */
  readonly isDryRun: boolean
  readonly onReject: (refusal: Refusal) => Promise<void>
  /** Shows how far a part is. The total of users is in bytes. */
  readonly onPart: (part: Part, total: number) => (done: number) => void
}

type Part = 'users' | 'profiles' | 'jobs'

/** A record of the old service that was not imported. */
export interface Refusal extends Partial<Rejection> {
  readonly reason: string
}

/** What an import has found and done for a kind of rows. */
export interface Counted {
  readonly resource: string
  /** The number in the old service, as far as it was read, and in the tenant afterwards. */
  readonly old: number
  readonly gateway: number
}

export interface ServiceImported {
  readonly counts: readonly Counted[]
  /** The rows that were written, or would be: new ones, and those that have changed. */
  readonly rows: number
  readonly refused: number
  /** The times that had more digits than milliseconds, which the database does not store. */
  readonly cutTimes: number
}

/**
 * Imports the users and profiles of the earlier service by its own interface, and some of its jobs. Records that exist
 * are updated if they differ, so it can be interrupted and run again.
 *
 * @throws OperatorError if the service cannot be reached, or refuses
 */
export async function importService(database: Database, given: ServiceImport): Promise<ServiceImported> {
  const run = new ServiceImportRun(database, given)
  await run.importUsers()
  await run.importProfiles()
  await run.importJobs()
  return run.result()
}

type Item = Record<string, unknown>

/** What differs between the parts of an import. */
interface OwnOptions extends Partial<Pick<ImportOptions, 'onReject' | 'onProgress'>> {
  readonly database?: Database
}

/** The resources whose rows an import writes, and their models. */
const models = {
  user: 'User',
  account: 'Account',
  profile: 'Profile',
  'email record': 'EmailRecord',
  job: 'Job',
} as const

class ServiceImportRun {
  private readonly given: ServiceImport
  /** The database with which records are written, or only checked. */
  private readonly database: Database
  private readonly found = { user: 0, account: 0, profile: 0, 'email record': 0, job: 0 }
  private readonly accountIds: string[] = []
  /** The accounts of the old service: those of profiles which a dry run cannot write. */
  private readonly platformAccounts = new Set<string>()
  private rows = 0
  private refused = 0
  private cutTimes = 0

  constructor(database: Database, given: ServiceImport) {
    this.given = given
    this.database = countingRows(database, given.isDryRun, (rows) => {
      this.rows += rows
    })
  }

  /**
   * Imports the users. The response is received as fast as the service sends it, into a file without a name, and
   * written from there: a service does not wait for a database.
   */
  async importUsers(): Promise<void> {
    const file = await createNamelessFile()
    try {
      let size = 0
      const begin = async () => {
        await file.truncate()
        size = 0
      }
      await this.given.reader.users(begin, async (chunk) => {
        // New lines separate records in a file, and are blanks in a response.
        const line = chunk.map((byte) => (byte === 10 || byte === 13 ? 32 : byte))
        for (let at = 0; at < line.length; )
          at += (await file.write(line, at, line.length - at, size + at)).bytesWritten
        size += line.length
      })
      const onProgress = this.given.onPart('users', size)
      const chunks = createReadStream('', { fd: file.fd, start: 0, autoClose: false })
      await this.import({ name: 'GET /users', chunks }, (user) => this.readUser(user), { onProgress })
    } finally {
      await file.close()
    }
  }

  async importProfiles(): Promise<void> {
    await this.import({ name: 'GET /fusion/profiles', chunks: this.profiles() }, (profile) => this.readProfile(profile))
  }

  async importJobs(): Promise<void> {
    await this.import({ name: 'GET /fusion/jobs', chunks: this.jobs() }, (job) => this.readJob(job))
  }

  private import(
    file: { readonly name: string; readonly chunks: AsyncIterable<Uint8Array> },
    read: (record: Item) => Item,
    { database = this.database, onReject = (rejection) => this.refuse(rejection), ...options }: OwnOptions = {},
  ): Promise<number> {
    return importFile(database, file, {
      tenantAppId: this.given.tenantAppId,
      onReject,
      prepare: (record) => (isObject(record) ? this.withExactTimes(read(record)) : record),
      ...options,
    })
  }

  private async refuse(refusal: Refusal): Promise<void> {
    this.refused += 1
    await this.given.onReject(refusal)
  }

  /** The profiles of all accounts, as responses of a group each. */
  private async *profiles(): AsyncGenerator<Buffer> {
    const { reader, onPart } = this.given
    const onProgress = onPart('profiles', this.accountIds.length)
    for (let at = 0; at < this.accountIds.length; at += groupSize) {
      const ids = this.accountIds.slice(at, at + groupSize)
      const profiles = await reader.profiles(ids, (id, reason) =>
        this.refuse({ file: 'GET /fusion/profiles', id, reason }),
      )
      yield lineOf({ profiles: this.given.isDryRun ? await this.withAccounts(profiles) : profiles })
      onProgress(at + ids.length)
    }
  }

  /**
   * The profiles whose accounts are in the tenant. A dry run has not written the others' accounts, so it checks these
   * profiles alone.
   */
  private async withAccounts(profiles: readonly Item[]): Promise<Item[]> {
    const platforms = profiles.map(platformAccountOf)
    const accountOf = await findByPlatform(this.database.sql, this.given.tenantAppId, platforms)
    const isNew = (_: Item, index: number) => {
      const platform = platforms[index] ?? platformAccountOf({})
      return !accountOf(platform) && this.platformAccounts.has(JSON.stringify(platform))
    }
    const added = profiles.filter(isNew)
    const chunks = (async function* () {
      yield lineOf({ profiles: added })
    })()
    const refused = new Set<unknown>()
    const file = { name: 'GET /fusion/profiles', chunks }
    await this.import(file, (profile) => this.readProfile(profile), {
      database: withoutWrites(this.database),
      onReject: async (rejection) => {
        refused.add(rejection.id)
        await this.refuse(rejection)
      },
    })
    for (const profile of added.filter(({ id }) => !refused.has(id))) this.rows += 1 + listOf(profile, 'emails').length
    return profiles.filter((profile, index) => !isNew(profile, index))
  }

  private async *jobs(): AsyncGenerator<Buffer> {
    const { reader, jobIds, onPart } = this.given
    const onProgress = onPart('jobs', jobIds.length)
    for (const [index, id] of jobIds.entries()) {
      try {
        yield Buffer.from(`${await reader.job(id)}\n`)
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        this.found.job += 1
        await this.refuse({ file: 'GET /fusion/jobs', id, reason: error.message })
      }
      onProgress(index + 1)
    }
  }

  private readUser(user: Item): Item {
    this.found.user += 1
    // A user without accounts may have no list.
    const accounts = listOf(user, 'accounts')
    for (const account of accounts) {
      this.found.account += 1
      const id = ownValue(account, 'id')
      if (typeof id === 'string') this.accountIds.push(id)
      if (this.given.isDryRun) this.platformAccounts.add(JSON.stringify(platformAccountOf(account)))
    }
    return { ...user, accounts: ownValue(user, 'accounts') ?? [] }
  }

  private readProfile(profile: Item): Item {
    this.found.profile += 1
    this.found['email record'] += listOf(profile, 'emails').length
    // The interface names `emails` among the fields of a profile, by which an import recognises one.
    return { ...profile, emails: ownValue(profile, 'emails') ?? [] }
  }

  private readJob(job: Item): Item {
    this.found.job += 1
    return job
  }

  /** Writes the times of a record, and of those in its lists, as an import reads them. */
  private withExactTimes(record: Item): Item {
    return Object.fromEntries(
      Object.entries(record).map(([key, value]) => {
        if (times.has(key) && typeof value === 'string') return [key, this.exactTime(value)]
        const isList = (key === 'accounts' || key === 'emails') && Array.isArray(value)
        return [key, isList ? value.map((item) => (isObject(item) ? this.withExactTimes(item) : item)) : value]
      }),
    )
  }

  /** A time that cannot be read stays, so that its record is refused with it. */
  private exactTime(text: string): string {
    const moment = readMoment(text)
    if (!moment) return text
    if (moment.fraction.length > 3) this.cutTimes += 1
    const milliseconds = Number(moment.fraction.padEnd(3, '0').slice(0, 3))
    return new Date(moment.second * 1_000 + milliseconds).toISOString()
  }

  async result(): Promise<ServiceImported> {
    const counts: Counted[] = []
    for (const [resource, model] of Object.entries(models)) {
      const count = statement(`SELECT count(*) FROM "${dataModel(model).name}" WHERE tenant_app_id = $1`)
      const [[gateway] = []] = await this.database.sql.of(this.given.tenantAppId).query(count, [this.given.tenantAppId])
      counts.push({ resource, old: this.found[resource as keyof typeof models], gateway: Number(gateway) })
    }
    const { rows, refused, cutTimes } = this
    return { counts, rows, refused, cutTimes }
  }
}

/** The fields with times, of all records. */
const times = new Set(['created_at', 'updated_at', 'joined_at'])

const isObject = (value: unknown): value is Item => typeof value === 'object' && value !== null && !Array.isArray(value)

function listOf(record: Item, key: string): Item[] {
  const list = ownValue(record, key)
  return Array.isArray(list) ? list.filter(isObject) : []
}

function platformAccountOf(record: Item) {
  const [platform, platformAccountId] = ['user_platform', 'platform_account_id'].map((key) =>
    String(ownValue(record, key)),
  )
  return { platform: platform ?? '', platformAccountId: platformAccountId ?? '' }
}

const lineOf = (value: object) => Buffer.from(`${JSON.stringify(value)}\n`)

/** Creates a file that nobody else can open, and that ends with the process. It has personal data. */
async function createNamelessFile(): Promise<FileHandle> {
  const folder = await mkdtemp(path.join(tmpdir(), 'fusion-import-')).catch((error: Error) => {
    throw new OperatorError(`There is no folder for temporary files: ${error.message}`)
  })
  try {
    return await open(path.join(folder, 'users'), 'wx+', 0o600)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Ends a transaction of a dry run. */
class NothingWritten extends Error {
  override readonly name = 'NothingWritten'
}

/** The database, whose transactions count the rows that they write, and write none in a dry run. */
function countingRows(database: Database, isDryRun: boolean, onRows: (rows: number) => void): Database {
  const transact: Sql['transact'] = async (work) => {
    let rows = 0
    let result: Awaited<ReturnType<typeof work>> | undefined
    try {
      await database.sql.transact(async (sql) => {
        rows = 0
        const execute: Sql['execute'] = async (...sent) => {
          const count = await sql.execute(...sent)
          rows += count
          return count
        }
        result = await work(Object.assign(Object.create(sql) as Sql, { execute }))
        if (isDryRun) throw new NothingWritten()
      })
    } catch (error) {
      if (!(error instanceof NothingWritten)) throw error
    }
    onRows(rows)
    return result as Awaited<ReturnType<typeof work>>
  }
  return { ...database, sql: Object.assign(Object.create(database.sql) as Sql, { transact }) }
}

/** The database, whose transactions do nothing. */
function withoutWrites(database: Database): Database {
  const transact = (async () => undefined) as Sql['transact']
  return { ...database, sql: Object.assign(Object.create(database.sql) as Sql, { transact }) }
}
