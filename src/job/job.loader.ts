import type { LoaderFactory } from '../db/loader.ts'

export const jobLoaders = ({ one, list }: LoaderFactory) => ({
  jobById: one('Job', 'id'),
  jobList: list('Job'),
})
