import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { gql } from '@apollo/client/core'
import { hasCode } from '@fusion-gateway/client'
import { createApolloClient } from '@fusion-gateway/client/apollo'
import { createUrqlClient } from '@fusion-gateway/client/urql'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { startGateway } from '../support/cli.ts'
import { createDataDir } from '../support/data-dir.ts'
import { projectRoot, readBlocks } from '../support/docs.ts'
import { hasExample } from '../support/skip.ts'

const example = path.join(projectRoot, 'examples/codegen')

describe.skipIf(!hasExample('codegen', 'GraphQL Codegen'))('GraphQL Codegen', () => {
  beforeAll(() => {
    const [generate] = readBlocks('docs/recipes/codegen.md').filter(({ code }) => code.includes('npx graphql-codegen'))
    execFileSync('sh', ['-ec', generate?.code ?? 'exit 1'], { cwd: example, stdio: 'pipe' })
  })

  it('writes types with which the scalars are used', () => {
    execFileSync('node_modules/.bin/tsc', ['--project', example], { cwd: projectRoot, stdio: 'pipe' })
  })

  it('writes trusted documents, which Apollo Client and urql send by their hashes', async () => {
    const dataDir = createDataDir()
    const file = path.join(example, 'src/__generated__/persisted-documents.json')
    const gateway = await startGateway({ DATA_DIR: dataDir, TRUSTED_DOCUMENTS: file })
    onTestFinished(async () => {
      await gateway.stop()
      rmSync(dataDir, { recursive: true })
    })
    const sent = vi.spyOn(globalThis, 'fetch')
    onTestFinished(() => sent.mockRestore())
    const options = {
      url: `${gateway.address}/graphql`,
      apiKey: readFileSync(path.join(dataDir, 'demo-key'), 'utf8').trim(),
      documents: 'persisted',
    } as const
    const { TopProfilesDocument } = await import(path.join(example, 'src/__generated__/graphql.ts'))
    const node = { __typename: 'Profile', id: expect.any(String), syncedAt: expect.any(String) }
    const top = { searchProfiles: { edges: [{ node }, { node }] } }
    const apollo = createApolloClient(options)
    onTestFinished(() => apollo.stop())
    const { data } = await apollo.query({ query: TopProfilesDocument, variables: { first: 2 } })
    expect(data).toMatchObject(top)
    expect(Object.keys(apollo.extract() as object)).toContainEqual(expect.stringMatching(/^Profile:prf_/))
    const read = await createUrqlClient(options).query(TopProfilesDocument, { first: 2 }).toPromise()
    expect(read.data).toMatchObject(top)
    // Other files of the worker may send requests of their own.
    const requests = sent.mock.calls.filter(([input]) => String(input).startsWith(options.url))
    expect(requests).toHaveLength(2)
    for (const [, init] of requests) expect(JSON.parse(String(init?.body))).not.toHaveProperty('query')

    const other = await apollo.query({ query: gql('{ viewer { keyName } }') })
    expect(other.error).toMatchObject({ message: expect.stringContaining('has no id') })
    const text = createApolloClient({ ...options, documents: 'text' })
    onTestFinished(() => text.stop())
    expect(hasCode((await text.query({ query: gql('{ viewer { keyName } }') })).error, 'DOCUMENT_NOT_TRUSTED')).toBe(
      true,
    )
  })
})
