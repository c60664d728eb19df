import type { LoaderFactory } from '../db/loader.ts'

export const jobLoaders = ({ one }: LoaderFactory) => ({
  jobById: one('Job', 'id'),
})
