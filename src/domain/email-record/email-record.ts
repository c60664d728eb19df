import { defineNoun } from '../noun.ts'
import './email-record.graphql.ts'
import { emailRecordSeed } from './email-record.seed.ts'

defineNoun({ name: 'email record', seed: emailRecordSeed })
