import { accountLoaders } from './account/account.loader.ts'
import { createLoaderFactory, type Reads } from './db/loader.ts'
import { emailRecordLoaders } from './email-record/email-record.loader.ts'
import { jobLoaders } from './job/job.loader.ts'
import { profileLoaders } from './profile/profile.loader.ts'
import { userLoaders } from './user/user.loader.ts'

/** Every by-id read and every relation, each a DataLoader over one tenant's rows, and its lists. */
export type Loaders = ReturnType<typeof createLoaders>

/** The loaders of one request. They see one tenant's rows and no others. */
export function createLoaders(reads: Reads, tenantAppId: string) {
  const factory = createLoaderFactory(reads, tenantAppId)
  return {
    ...userLoaders(factory),
    ...accountLoaders(factory),
    ...profileLoaders(factory),
    ...emailRecordLoaders(factory),
    ...jobLoaders(factory),
    /** From here on rows hold the fields of these names and the ids, and nothing else. */
    select: factory.select,
    /** Forgets everything read so far: called after a write, so that what follows it reads afresh. */
    clearAll: factory.clearAll,
  }
}
