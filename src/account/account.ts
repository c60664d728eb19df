import { defineNoun } from '../noun/noun.ts'
import './account.graphql.ts'
import { accountSeed } from './account.seed.ts'

defineNoun({ name: 'account', seed: accountSeed })
