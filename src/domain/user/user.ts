import { defineNoun } from '../noun.ts'
import './user.graphql.ts'
import { userSeed } from './user.seed.ts'
import { userTransfer } from './user.transfer.ts'

defineNoun({ name: 'user', transfer: userTransfer, seed: userSeed })
