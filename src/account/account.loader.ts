import type { LoaderFactory } from '../db/loader.ts'

export const accountLoaders = ({ one, many }: LoaderFactory) => ({
  accountById: one('Account', 'id'),
  accountsOfUser: many('Account', 'userId'),
})
