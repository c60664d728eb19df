import { defineNoun } from '../noun.ts'
import './profile.graphql.ts'
import { profileSeed } from './profile.seed.ts'
import { profileTransfer } from './profile.transfer.ts'

defineNoun({ name: 'profile', transfer: profileTransfer, seed: profileSeed })
