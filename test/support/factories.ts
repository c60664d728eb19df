import type { Prisma } from '@fusion-gateway/database'
import { accountIds } from '../../src/domain/account/account.ts'
import { jobIds } from '../../src/domain/job/job.ts'
import { emailRecordIds } from '../../src/domain/profile/email-record.ts'
import { profileIds } from '../../src/domain/profile/profile.ts'
import { userIds } from '../../src/domain/user/user.ts'
import { webhookIds } from '../../src/domain/webhook/webhook.ts'
import type { TestApp, TestTenant } from './app.ts'

type Given<Input> = Partial<Omit<Input, 'tenantAppId'>>

let number = 0

/** Creates rows of a tenant directly in the database, with values for what a test does not set. */
export function factoriesFor({ database: { prisma } }: TestApp, { tenantAppId }: TestTenant) {
  return {
    user: (given: Given<Prisma.UserUncheckedCreateInput> = {}) => {
      number += 1
      const data = {
        id: userIds.create(),
        name: `User ${number}`,
        email: `user${number}@example.com`,
        phone: '+1 555 0100',
      }
      return prisma.user.create({ data: { ...data, ...given, tenantAppId } })
    },
    // Citus refuses that a write of Prisma Client returns an enum.
    account: async (userId: string, given: Given<Prisma.AccountCreateManyInput> = {}) => {
      number += 1
      const { id = accountIds.create() } = given
      const data = { platform: 'YOUTUBE', platformAccountId: `channel-${number}`, displayName: `Account ${number}` }
      await prisma.account.createMany({ data: { ...data, ...given, id, userId, tenantAppId } })
      return prisma.account.findUniqueOrThrow({ where: { tenantAppId_id: { tenantAppId, id } } })
    },
    profile: (
      account: { id: string; platform: string; platformAccountId: string },
      given: Given<Prisma.ProfileUncheckedCreateInput> = {},
    ) => {
      const { id: accountId, platform, platformAccountId } = account
      return prisma.profile.create({
        data: { id: profileIds.create(), accountId, platform, platformAccountId, ...given, tenantAppId },
      })
    },
    email: (profileId: string, given: Given<Prisma.EmailRecordUncheckedCreateInput> = {}) => {
      number += 1
      const data = { id: emailRecordIds.create(), value: `mail${number}@example.com`, type: 'work' }
      return prisma.emailRecord.create({ data: { ...data, ...given, profileId, tenantAppId } })
    },
    job: async (given: Given<Prisma.JobCreateManyInput> = {}) => {
      const { id = jobIds.create() } = given
      await prisma.job.createMany({ data: { jobType: 'fetch_content', ...given, id, tenantAppId } })
      return prisma.job.findUniqueOrThrow({ where: { tenantAppId_id: { tenantAppId, id } } })
    },
    /**
     * A webhook that is never served, because it waits for events of the end of time, and a delivery to it that has
     * ended.
     */
    webhook: async (given: Given<Prisma.WebhookUncheckedCreateInput> = {}) => {
      const data = { id: webhookIds.create(), url: 'https://example.com', eventTypes: ['USER_CREATED'], keyId: 'key_1' }
      const webhook = await prisma.webhook.create({
        data: { ...data, secret: '', cursor: 'evt_z', ...given, tenantAppId },
      })
      const eventId = `evt_${'f'.repeat(24)}`
      await prisma.webhookDelivery.create({
        data: {
          tenantAppId,
          id: `dlv_${webhook.id}`,
          webhookId: webhook.id,
          eventId,
          eventType: 'USER_CREATED',
          status: 'FAILED',
          error: webhook.description,
        },
      })
      return webhook
    },
  }
}

/** Creates a user, an account, its profile, an email record, a job and a webhook. */
export async function createOneOfEach(
  app: TestApp,
  tenant: TestTenant,
  givenJob: Given<Prisma.JobUncheckedCreateInput> = {},
) {
  const make = factoriesFor(app, tenant)
  const user = await make.user()
  const account = await make.account(user.id)
  const profile = await make.profile(account)
  const email = await make.email(profile.id)
  const job = await make.job({ payload: { url: 'https://example.com' }, ...givenJob })
  const webhook = await make.webhook({ url: `https://example.com/${job.id}` })
  return { user, account, profile, email, job, webhook }
}
