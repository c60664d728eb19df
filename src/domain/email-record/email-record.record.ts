import { z } from 'zod'
import { filledText, id, orNull, recordTime, storableText } from '../../engine/input/rules.ts'

/** The GraphQL selection of an email record in REST. The aliases are the keys of the record. */
export const emailRecordSelection = `
    value
    type
    is_verified: isVerified
    is_primary: isPrimary
    id
    created_at: createdAt
    updated_at: updatedAt
    profile_id: profileId
  `

/** An email in the record of its profile, as an import reads it. */
export const emailRecordRecord = z.object({
  id,
  value: filledText,
  type: orNull(storableText),
  is_verified: z.boolean().default(false),
  is_primary: z.boolean().default(false),
  created_at: recordTime,
  updated_at: recordTime,
})
