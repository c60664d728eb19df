import spectral from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'
import { expect, it } from 'vitest'
import { openApiDocument } from '../../test/support/openapi-types.ts'

it('the document passes the rules of Spectral', async () => {
  const linter = new spectral.Spectral()
  linter.setRuleset({ extends: [[rulesets.oas, 'recommended']] })
  const problems = await linter.run(openApiDocument())
  expect(problems.map(({ code, message, path }) => [code, message, path.join('.')])).toEqual([])
})
