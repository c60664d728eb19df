import type { Seed } from '../noun.ts'
import { profileIds } from '../profile/profile.rows.ts'
import { emailRecordIds } from './email-record.rows.ts'

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
