import { z } from 'zod'
import { id, orNull, recordTime } from '../../engine/input/rules.ts'
import { accountRecord, accountSelection } from '../account/account.record.ts'
import { userFields } from './user.input.ts'

/** The GraphQL selection of a user in REST, without accounts. The aliases are the keys of the record. */
export const userSelection = `
  id
  created_at: createdAt
  updated_at: updatedAt
  name
  email
  phone
  tenant_app_id: tenantAppId`

/** The same with accounts. */
export const fullUserSelection = `${userSelection}
  accounts { ${accountSelection} }`

/** A user with accounts, as an import reads it. */
export const userRecord = z.object({
  id,
  created_at: recordTime,
  updated_at: recordTime,
  name: userFields.name,
  email: userFields.email,
  phone: orNull(userFields.phone),
  accounts: z.array(accountRecord),
})
