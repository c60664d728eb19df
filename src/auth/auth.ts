import { defineNoun } from '../noun/noun.ts'
import './api-key.graphql.ts'
import './tokens/access-token.graphql.ts'
import './viewer.graphql.ts'

defineNoun({ name: 'credential' })
