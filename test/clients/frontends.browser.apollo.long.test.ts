import { describeFrontend } from './frontends/scenarios.ts'

describeFrontend('apollo', { hasCache: true })
