import type { LoaderFactory } from '../db/loader.ts'

export const profileLoaders = ({ one }: LoaderFactory) => ({
  profileById: one('Profile', 'id'),
  profileOfAccount: one('Profile', 'accountId'),
})
