import { describeFrontend } from './frontends/scenarios.ts'

describeFrontend('fetch', { hasCache: false })
