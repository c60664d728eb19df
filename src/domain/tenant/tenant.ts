import { defineNoun } from '../noun.ts'
import './tenant-stats.graphql.ts'
import './tenant.graphql.ts'

defineNoun({ name: 'tenant' })
