import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client/core'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { hasCode } from '../../examples/frontends/apollo.ts'
import { createPersistedLink } from '../../examples/frontends/persisted-documents.ts'
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

  it('writes trusted documents, which Apollo Client sends by their hashes', async () => {
    const dataDir = createDataDir()
    const file = path.join(example, 'src/__generated__/persisted-documents.json')
    const gateway = await startGateway({ DATA_DIR: dataDir, TRUSTED_DOCUMENTS: file })
    onTestFinished(async () => {
      await gateway.stop()
      rmSync(dataDir, { recursive: true })
    })
    const headers = { 'x-api-key': readFileSync(path.join(dataDir, 'demo-key'), 'utf8').trim() }
    const sent: string[] = []
    const http = new HttpLink({
      uri: `${gateway.address}/graphql`,
      headers,
      fetch: (input, init) => {
        sent.push(String(init?.body))
        return fetch(input, init)
      },
    })
    const client = new ApolloClient({
      link: ApolloLink.from([createPersistedLink(), http]),
      cache: new InMemoryCache(),
    })
    onTestFinished(() => client.stop())
    const { TopProfilesDocument } = await import(path.join(example, 'src/__generated__/graphql.ts'))
    const { data } = await client.query({ query: TopProfilesDocument, variables: { first: 2 } })
    const node = { __typename: 'Profile', id: expect.any(String), syncedAt: expect.any(String) }
    expect(data).toMatchObject({ searchProfiles: { edges: [{ node }, { node }] } })
    expect(sent).toHaveLength(1)
    expect(JSON.parse(String(sent[0]))).not.toHaveProperty('query')
    expect(Object.keys(client.extract() as object)).toContainEqual(expect.stringMatching(/^Profile:prf_/))

    const other = await client.query({ query: gql('{ viewer { keyName } }') }).catch((error: unknown) => error)
    expect(hasCode(other, 'DOCUMENT_NOT_TRUSTED')).toBe(true)
  })
})
