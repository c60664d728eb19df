import { many, one } from '@fusion-gateway/prisma-trees'
import { idsWithPrefix } from '@fusion-gateway/sql'
import type { Seed } from '../resource.ts'
import { profileIds } from './profile.ts'

export const emailRecordIds = idsWithPrefix('eml')

export const emailRecordById = one('EmailRecord', 'id')
export const emailsOfProfile = many('EmailRecord', 'profileId')

const types = ['personal', 'work']

export const emailRecordSeed: Seed = {
  model: 'EmailRecord',
  rowsOf({ tenantAppId, idOf, accounts, handle, randomOf }) {
    const random = randomOf('email')
    return accounts.flatMap(({ number, syncedAt }) =>
      types.map((type, index) => ({
        tenantAppId,
        id: idOf(emailRecordIds, number, index + 1),
        profileId: idOf(profileIds, number),
        value: `${handle}@${type}.example.com`,
        type,
        isVerified: random.next() < 0.7,
        isPrimary: index === 0,
        createdAt: syncedAt,
        updatedAt: syncedAt,
      })),
    )
  },
}
