import { parse, print } from 'graphql'
import type { Random } from '../../../src/domain/resource.ts'
import { differenceOf, ofGateway, ofReference } from '../compare/responses.ts'
import { generateOperation } from '../generate/operation.ts'
import { inputs } from '../mutations/inputs.ts'
import { refill } from '../mutations/run-mutation.ts'
import { executeReference } from '../reference/reference.ts'
import { orderedTexts, orderTexts, readTables, type Tables } from '../reference/tables.ts'
import { createView } from '../reference/view.ts'
import { sharedIds } from '../world/create-rows.ts'
import type { World } from '../world/world.ts'

const rounds = 4

/** Each viewer asks so often between two writes: the gateway reads the response, keeps it, and has it. */
const repetitions = 3

/** Changes by SQL, which no gateway sees. `$2` is a row of the table, `$3` a random number. */
const changes: Readonly<Record<string, readonly string[]>> = {
  User: [
    `UPDATE "user" SET name = 'Name ' || $3::text WHERE tenant_app_id = $1 AND id = $2`,
    `UPDATE "user" SET phone = nullif($3::text, '0'), email = $3::text || '@example.com' WHERE tenant_app_id = $1 AND id = $2`,
    `UPDATE "user" SET updated_at = '2026-02-01'::timestamptz + $3::int * interval '1 day' WHERE tenant_app_id = $1 AND id = $2`,
    `DELETE FROM "user" WHERE tenant_app_id = $1 AND id = $2 AND $3::int < 3`,
  ],
  Account: [
    `UPDATE account SET display_name = 'Account ' || $3::text WHERE tenant_app_id = $1 AND id = $2`,
    `UPDATE account SET status = CASE WHEN $3::int < 5 THEN 'EXPIRED' ELSE 'CONNECTED' END::account_status WHERE tenant_app_id = $1 AND id = $2`,
    'DELETE FROM account WHERE tenant_app_id = $1 AND id = $2 AND $3::int < 3',
  ],
  Profile: [
    'UPDATE profile SET followers_count = $3::int, verified = $3::int < 5 WHERE tenant_app_id = $1 AND id = $2',
    `UPDATE profile SET full_name = 'Name ' || $3::text, addresses = json_build_array(json_build_object('a', $3::text)) WHERE tenant_app_id = $1 AND id = $2`,
    `UPDATE profile SET synced_at = '2026-02-01'::timestamptz + $3::int * interval '1 day' WHERE tenant_app_id = $1 AND id = $2`,
  ],
  EmailRecord: [
    `UPDATE email_record SET value = $3::text || '@example.com', is_primary = $3::int < 5 WHERE tenant_app_id = $1 AND id = $2`,
    'DELETE FROM email_record WHERE tenant_app_id = $1 AND id = $2 AND $3::int < 5',
  ],
}

/** A change by SQL, of a row that exists. Half of them are of a row whose id rows of other types have too. */
function pickChange(tables: Tables, { below, pick }: Random) {
  const typename = pick(Object.keys(changes))
  const all = tables[typename as 'User'].map((row) => row.id)
  const shared = all.filter((id) => sharedIds.includes(id))
  const ids = shared.length > 0 && below(2) === 0 ? shared : all
  return { sql: pick(changes[typename] ?? []), id: ids.length === 0 ? 'nobody' : pick(ids), number: String(below(10)) }
}

/** Writes a few times, by mutations and by SQL. Returns descriptions of what was written. */
async function writeSome({ app, writers }: World, tables: Tables, random: Random): Promise<string[]> {
  const { below, pick } = random
  const [full] = writers
  if (!full) throw new Error('The world has no writers')
  const { tenantAppId } = full.holder
  const written: string[] = []
  for (let left = 1 + below(3); left > 0; left -= 1) {
    if (below(3) === 0) {
      const name = pick(Object.keys(inputs))
      const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
      const input = inputs[name]?.(tables, random)
      const query = `mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`
      await app.graphql(full.credentials, query, { input })
      written.push(`${name} ${JSON.stringify(input)}`)
    } else {
      const together = Array.from({ length: 1 + below(3) }, () => pickChange(tables, random))
      const { prisma } = app.database
      await prisma.$transaction(
        together.map(({ sql, id, number }) => prisma.$executeRawUnsafe(sql, tenantAppId, id, number)),
      )
      written.push(together.map(({ sql, id, number }) => `${sql} with ${id}, ${number}`).join('\n  and '))
    }
  }
  return written
}

/**
 * Runs a random query of all viewers several times, writes, and runs it again: also the responses that the gateway has
 * kept must be those of graphql-js over the rows that there are then.
 *
 * @param root its root field; without it, random ones
 * @returns a description of the mismatch; `too expensive` if the gateway did not execute the query
 */
export async function runBetweenWrites(world: World, random: Random, root?: string): Promise<string | undefined> {
  const { app, schema, cursors, writers } = world
  const tenantAppId = writers[0]?.holder.tenantAppId ?? ''
  await refill(app, tenantAppId, random)
  const { text, sets } = generateOperation({ schema, cursors, tenantAppId }, random, root)
  // The log has events a moment after their rows.
  if (/\bevents\b/.test(text)) return undefined
  const document = parse(text)
  let written: string[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const tables = await readTables(app.database, tenantAppId)
    const order = await orderTexts(app.database, orderedTexts(tables))
    for (const { name, credentials, holder } of writers) {
      const variables = sets[random.below(2)] ?? {}
      const expected = executeReference(schema, document, variables, createView(holder, tables, order, cursors))
      for (let number = 1; number <= repetitions; number += 1) {
        const response = await app.graphql(credentials, text, variables)
        if (response.errors?.some(({ extensions }) => extensions['code'] === 'TOO_EXPENSIVE')) return 'too expensive'
        const difference = differenceOf(ofGateway(response), ofReference(expected))
        if (difference === undefined) continue
        const when = written.length > 0 ? `after\n  ${written.join('\n  ')}` : 'before any write'
        return `${print(document)}\n${name}: ${JSON.stringify(variables)}, request ${number} ${when}\n${difference}`
      }
    }
    written = await writeSome(world, tables, random)
  }
  return undefined
}
