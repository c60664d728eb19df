import { userTransfer } from './account/account.transfer.ts'
import { accountDeletion, accountSeed } from './account/account.ts'
import { jobDeletion, jobTransfer } from './job/job.transfer.ts'
import { jobSeed } from './job/job.ts'
import { emailRecordSeed } from './profile/email-record.ts'
import { profileTransfer } from './profile/profile.transfer.ts'
import { profileSeed } from './profile/profile.ts'
import { metricTransfer } from './profile/profile-metric.transfer.ts'
import { metricSeed } from './profile/profile-metric.ts'
import type { Resource } from './resource.ts'
import { userDeletion, userSeed } from './user/user.ts'

/** The resources that are seeded, imported or exported. Each comes after the resources that its rows refer to. */
export const domain: readonly Resource[] = [
  { name: 'user', seed: userSeed, transfer: userTransfer, deletion: userDeletion },
  { name: 'account', seed: accountSeed, deletion: accountDeletion },
  { name: 'profile', seed: profileSeed, transfer: profileTransfer },
  { name: 'email record', seed: emailRecordSeed },
  { name: 'profile metric', seed: metricSeed, transfer: metricTransfer },
  { name: 'job', seed: jobSeed, transfer: jobTransfer, deletion: jobDeletion },
]
