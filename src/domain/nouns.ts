// The nouns of the domain. A noun comes after those that its rows refer to.
import './tenant/tenant.ts'
import './user/user.ts'
import './account/account.ts'
import './profile/profile.ts'
import './email-record/email-record.ts'
import './job/job.ts'
import './credential/auth.ts'

export { nouns } from './noun.ts'
