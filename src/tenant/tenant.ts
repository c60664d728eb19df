import { defineNoun } from '../noun/noun.ts'
import './tenant-stats.graphql.ts'
import './tenant.graphql.ts'

defineNoun({ name: 'tenant' })
