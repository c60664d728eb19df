import { createMissing } from '@fusion-gateway/migrate'
import { createMetrics, measureMissing } from '@fusion-gateway/telemetry'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { fusionOn } from '../support/command-database.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app.close())

/** Runs a command as the role that owns the tables. */
function asOwner(...args: string[]) {
  const { ownerUrl } = app.database
  return fusionOn(ownerUrl === undefined ? app.database : { ...app.database, url: ownerUrl }, args)
}

async function numberMissing(): Promise<string | undefined> {
  const metrics = createMetrics()
  measureMissing(metrics, createMissing(app.database))
  const read = async () => /^fusion_schema_missing (\d+)/m.exec(await metrics.registry.metrics())?.[1]
  await expect.poll(read).toBeDefined()
  return read()
}

it('migrate status and a metric say what a database lacks of its migrations, and migrate deploy creates it', async () => {
  expect(await asOwner('migrate', 'status')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('missing') })
  expect(await numberMissing()).toBe('0')

  const script = `DROP INDEX user_folded_search_idx; DROP INDEX account_tenant_app_id_platform_platform_account_id_key;
    DROP TRIGGER deleted ON profile; ALTER TABLE "user" DISABLE TRIGGER inserted`
  await app.database.runAsOwner(script)
  const names = [
    'index account_tenant_app_id_platform_platform_account_id_key',
    'trigger inserted of user',
    'index user_folded_search_idx',
    'trigger deleted of profile',
  ]
  const { code, stdout } = await asOwner('migrate', 'status')
  expect(code).toBe(1)
  expect(stdout.split('\n').filter((line) => line.startsWith('missing'))).toEqual(
    names.map((name) => `missing\t${name}`),
  )
  expect(await numberMissing()).toBe('4')

  expect((await asOwner('migrate', 'deploy')).stdout).toBe(
    `Nothing to apply.\n${names.map((name) => `Created the ${name}, which was missing\n`).join('')}`,
  )
  expect(await asOwner('migrate', 'status')).toMatchObject({ code: 0 })
  expect(await asOwner('migrate', 'deploy')).toMatchObject({ stdout: 'Nothing to apply.\n' })
})
