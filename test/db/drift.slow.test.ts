import { readFileSync } from 'node:fs'
import path from 'node:path'
import { calledFunctions, ownSequences, ownTables, triggerFunctions } from '@fusion-gateway/database'
import { readMigrationStatus } from '@fusion-gateway/migrate'
import { statement } from '@fusion-gateway/sql'
import type { GraphQLArgument } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { printSortedSchema, schemas } from '../../src/domain/schema.graphql.ts'
import { routes } from '../../src/rest/routes.ts'
import { clientListsPath, generateClientLists } from '../../tools/clients/write-lists.ts'
import { generateOperations, operationsPath } from '../../tools/console/operations.ts'
import { diffMigrationsAndSchema } from '../../tools/schema-engine.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { projectRoot, readPage } from '../support/docs.ts'
import { generateOpenApiTypes, openApiDocument } from '../support/openapi-types.ts'

const { schema } = schemas

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

describe('generated files match their sources', () => {
  it('the migrations create the tables of prisma/schema.prisma; to fix: npm run migration -- NAME', async () => {
    expect(await diffMigrationsAndSchema()).toBeUndefined()
  })

  it('a migrated database has all migrations', async () => {
    const { applied, ...rest } = await readMigrationStatus(database.sql)
    expect(applied.length).toBeGreaterThan(0)
    expect(rest).toEqual({ pending: [], unknown: [], failed: [] })
  })

  it('the tables, sequences and functions of the migrations are those of packages/database/src/own-objects.ts', async () => {
    const found = await database.sql.query(
      statement(`
        SELECT kind, name FROM (
          SELECT 'pg_class', oid, CASE relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, relname::text
            FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S') AND NOT relispartition
          UNION ALL SELECT 'pg_proc', oid, 'function', proname || '(' || array_to_string(ARRAY(
              SELECT format_type(type, NULL) FROM unnest(proargtypes) WITH ORDINALITY AS u (type, n) ORDER BY n), ', ') || ')'
            FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        ) AS object (catalogue, oid, kind, name)
        WHERE NOT EXISTS (SELECT FROM pg_depend WHERE classid = catalogue::regclass AND objid = object.oid AND deptype = 'e')`),
    )
    // Some are only in old, or only in distributed, databases.
    const optional = ['event_raise', 'notify_job_changed()', 'stamp_on_node()']
    const sorted = (names: Iterable<string>) => [...names].filter((name) => !optional.includes(name)).sort()
    const foundOf = (kind: string) => sorted(found.filter(([of]) => of === kind).map(([, name]) => String(name)))
    expect(foundOf('table')).toEqual(sorted(ownTables.keys()))
    expect(foundOf('sequence')).toEqual(sorted(ownSequences.keys()))
    expect(foundOf('function')).toEqual(sorted([...calledFunctions, ...triggerFunctions]))
  })

  it('schema.graphql is the schema of the code; to fix: npm run schema', () => {
    expect(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8')).toBe(printSortedSchema())
  })

  it('the types of the REST interface match its OpenAPI document; to fix: npm run schema', async () => {
    const written = readFileSync(new URL('../fixtures/openapi.generated.ts', import.meta.url), 'utf8')
    expect(written).toBe(await generateOpenApiTypes())
  })

  it('the operations of the console match schema.graphql; to fix: npm run schema', async () => {
    expect(readFileSync(operationsPath, 'utf8')).toBe(await generateOperations())
  })

  it('the lists of the client package match schema.graphql; to fix: npm run schema', () => {
    expect(readFileSync(clientListsPath, 'utf8')).toBe(generateClientLists())
  })

  it('docs/growth.svg draws the table of docs/scaling.md; to fix: npm run bench -- growth --chart', async () => {
    // A variable, because TypeScript has no types of benchmarks.
    const module = path.join(projectRoot, 'bench/growth-chart.js')
    const { drawGrowth } = await import(module)
    expect(readPage('docs/growth.svg')).toBe(drawGrowth(readPage('docs/scaling.md')))
  })

  it('the OpenAPI document has every route of the table and the probes', () => {
    const documented = Object.entries(openApiDocument()['paths'] as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const table = routes.map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}')}`)
    const served = [...table, 'GET /health', 'GET /metrics', 'GET /ready']
    expect(documented.sort()).toEqual(served.sort())
  })

  it('every type, field, argument and enum value of the schema has a description', () => {
    const undescribed: string[] = []
    for (const type of Object.values(schema.getTypeMap())) {
      if (type.name.startsWith('__')) continue
      if (!type.description) undescribed.push(type.name)
      if ('getValues' in type) {
        undescribed.push(
          ...type
            .getValues()
            .filter(({ description }) => !description)
            .map(({ name }) => `${type.name}.${name}`),
        )
      }
      if (!('getFields' in type)) continue
      for (const field of Object.values(type.getFields())) {
        if (!field.description) undescribed.push(`${type.name}.${field.name}`)
        const args: readonly GraphQLArgument[] = 'args' in field ? field.args : []
        undescribed.push(
          ...args.filter(({ description }) => !description).map(({ name }) => `${type.name}.${field.name}(${name}:)`),
        )
      }
    }
    expect(undescribed).toEqual([])
  })
})
