import { defineNoun } from '../noun.ts'
import './api-key.graphql.ts'
import './access-token.graphql.ts'
import './viewer.graphql.ts'

defineNoun({ name: 'credential' })
