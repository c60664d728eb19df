import type { LoaderFactory } from '../db/loader.ts'

export const emailRecordLoaders = ({ one, many }: LoaderFactory) => ({
  emailRecordById: one('EmailRecord', 'id'),
  emailsOfProfile: many('EmailRecord', 'profileId'),
})
