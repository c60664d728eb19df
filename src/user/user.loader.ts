import type { LoaderFactory } from '../db/loader.ts'

export const userLoaders = ({ one }: LoaderFactory) => ({
  userById: one('User', 'id'),
})
