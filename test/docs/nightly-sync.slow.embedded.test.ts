import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ProfileInput, syncFile } from '../../examples/creator-dashboard/server/sync.ts'
import { startTestApp, type TestApp, type TestTenant } from '../support/app.ts'
import { createBulk } from '../support/bulk.ts'
import { factoriesFor } from '../support/factories.ts'

let app: TestApp
let tenant: TestTenant
let folder: string

beforeAll(async () => {
  app = await startTestApp()
  tenant = await app.createTenant()
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-sync-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await app.close()
})

describe('the nightly sync of docs/recipes/nightly-sync.md', () => {
  it('sends 100 profiles with each request, continues where it stopped, and reports what is rejected', async () => {
    const create = factoriesFor(app, tenant)
    const profiles: ProfileInput[] = []
    for (let number = 0; number < 230; number += 1) {
      const { id } = await create.account((await create.user()).id)
      profiles.push({ accountId: id, followersCount: number })
    }
    profiles[150] = { accountId: 'unlinked' }
    const file = path.join(folder, 'creators.ndjson')
    writeFileSync(file, profiles.map((profile) => `${JSON.stringify(profile)}\n`).join(''))

    const sizes: number[] = []
    const rejected: string[] = []
    let isDown = true
    const options = {
      async sync(inputs: readonly ProfileInput[]) {
        sizes.push(inputs.length)
        const results = await createBulk(app, tenant)('syncProfiles', inputs)
        // The second request is executed, and its response is lost.
        if (isDown && sizes.length === 2) throw new Error('The connection is lost')
        return results as { userErrors: { message: string }[] }[]
      },
      onRejected: ({ accountId }: ProfileInput, message: string) => void rejected.push(`${accountId} ${message}`),
    }
    await expect(syncFile(file, options)).rejects.toThrow('The connection is lost')
    expect(rejected).toEqual([])
    isDown = false
    expect(await syncFile(file, options)).toBe(130)
    expect(sizes).toEqual([100, 100, 100, 30])
    expect(rejected).toEqual(['unlinked is not the id of an account'])
    expect(readdirSync(folder)).toEqual(['creators.ndjson'])
    const { prisma } = app.database
    const stored = await prisma.profile.findMany({ orderBy: { followersCount: 'asc' } })
    expect(stored.map(({ followersCount }) => Number(followersCount))).toEqual(
      profiles.flatMap(({ followersCount }) => (followersCount === undefined ? [] : [followersCount])),
    )
    const events = await prisma.event.count({ where: { type: 'PROFILE_SYNCED' } })
    expect(events).toBe(229)
  })
})
