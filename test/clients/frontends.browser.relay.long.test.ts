import { describe } from 'vitest'
import { hasExample } from '../support/skip.ts'
import { describeFrontend } from './frontends/scenarios.ts'

describe.skipIf(!hasExample('relay', 'A page with Relay'))('with the compiler of the example', () => {
  describeFrontend('relay', { hasCache: true, isCompiled: true })
})
