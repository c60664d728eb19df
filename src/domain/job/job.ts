import { defineNoun } from '../noun.ts'
import './job.graphql.ts'
import './job.mutations.graphql.ts'
import { jobSeed } from './job.seed.ts'
import './job.subscriptions.graphql.ts'
import { jobTransfer } from './job.transfer.ts'
import './job.work.graphql.ts'

defineNoun({ name: 'job', transfer: jobTransfer, seed: jobSeed })
