import { idsWithPrefix } from '../../engine/db/ids.ts'
import { many, one } from '../../engine/db/read/relation.ts'
import { profileIds } from '../profile/profile.ts'
import type { Seed } from '../resource.ts'

export const emailRecordIds = idsWithPrefix('eml')

export const emailRecordById = one('EmailRecord', 'id')
export const emailsOfProfile = many('EmailRecord', 'profileId')

const types = ['personal', 'work']

export const emailRecordSeed: Seed = {
  model: 'EmailRecord',
  fields: ['tenantAppId', 'id', 'profileId', 'value', 'type', 'isVerified', 'isPrimary', 'createdAt', 'updatedAt'],
  rowsOf({ tenantAppId, idOf, accounts, handle, createdAt, randomOf }) {
    const random = randomOf('email')
    return accounts.flatMap(({ number }) =>
      types.map((type, index) => [
        ...[tenantAppId, idOf(emailRecordIds, number, index + 1), idOf(profileIds, number)],
        ...[`${handle}@${type}.example.com`, type, random.next() < 0.7, index === 0, createdAt, createdAt],
      ]),
    )
  },
}
