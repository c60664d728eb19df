import type { LoaderFactory } from '../db/loader.ts'

export const userLoaders = ({ one, list }: LoaderFactory) => ({
  userById: one('User', 'id'),
  userList: list('User'),
})
