import { describeFrontend } from './frontends/scenarios.ts'

describeFrontend('urql', { hasCache: true })
