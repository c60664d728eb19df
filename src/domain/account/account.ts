import { defineNoun } from '../noun.ts'
import './account.graphql.ts'
import { accountSeed } from './account.seed.ts'

defineNoun({ name: 'account', seed: accountSeed })
