import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buildVersion } from '@fusion-gateway/base'
import { afterAll, beforeAll, expect, it } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { projectRoot } from '../../../test/support/docs.ts'
import clientPackage from '../package.json' with { type: 'json' }

let folder: string
const run = (command: string, args: readonly string[], cwd = folder) =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'fusion-client-'))
  const packed = run('npm', ['pack', './packages/client', '--json', '--pack-destination', folder], projectRoot)
  const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('[\n'))) as [{ filename: string }]
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  run('npm', ['install', '--prefer-offline', '--no-fund', '--no-audit', `./${filename}`])
})
afterAll(() => rmSync(folder, { recursive: true }))

it('the package that npm packs has JavaScript, types and a README, and nothing else', () => {
  const lists = run('find', ['node_modules/@fusion-gateway/client', '-type', 'f'])
  const files = lists
    .trim()
    .split('\n')
    .map((file) => file.replace('node_modules/@fusion-gateway/client/', ''))
  expect(files.filter((file) => !/^(package\.json|README\.md|dist\/\w+(\.js|\.d\.ts))$/.test(file))).toEqual([])
  for (const { types, default: code } of Object.values(clientPackage.exports)) {
    expect(files).toEqual(expect.arrayContaining([types, code].map((file) => file.replace('./', ''))))
  }
  // The clients are those of the application.
  for (const client of ['@apollo/client', '@urql/core', 'relay-runtime']) {
    expect(() => readFileSync(path.join(folder, 'node_modules', client, 'package.json'))).toThrow('ENOENT')
  }
})

it('the package has the version of the build, with the commit that npm leaves out', () => {
  const script = "console.log((await import('@fusion-gateway/client')).version)"
  expect(run(process.execPath, ['--input-type=module', '--eval', script]).trim()).toBe(buildVersion())
})

it('Node imports its entries without a client', () => {
  const script = `
    const { createSend, follow } = await import('@fusion-gateway/client/fetch')
    const { createTokens } = await import('@fusion-gateway/client/tokens')
    const { createTokenHandler } = await import('@fusion-gateway/client/server')
    const { createAction } = await import('@fusion-gateway/client')
    console.log([createSend, follow, createTokens, createTokenHandler, createAction].map((each) => typeof each).join())`
  expect(run(process.execPath, ['--input-type=module', '--eval', script]).trim()).toBe(Array(5).fill('function').join())
})

it('its types are those of an application with the strictest settings, and infer results from documents', () => {
  writeFileSync(
    path.join(folder, 'page.ts'),
    `import { createAction } from '@fusion-gateway/client'
    import { createSend, follow } from '@fusion-gateway/client/fetch'
    import { createTokens } from '@fusion-gateway/client/tokens'
    declare const document: String & { __apiType?: (variables: { id: string }) => { user: { name: string } | null } }
    const send = createSend({ url: '/graphql', token: createTokens({ fetchToken: () => fetch('/token') }) })
    export const name: string | undefined = (await send(document, { id: 'usr_1' })).data.user?.name
    // @ts-expect-error The document has no such variable.
    await send(document, { unknown: 1 })
    for await (const { data } of follow(send, document, { id: 'usr_1' })) data.user?.name
    await createAction()((action) => send<{ a: number }>('mutation { a }', {}, { action }))`,
  )
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    types: [],
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
  }
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['page.ts'] }))
  run(path.join(projectRoot, 'node_modules/.bin/tsc'), [])
})

it('its dependencies have the versions that the gateway is tested with', () => {
  const tested: Record<string, string> = { ...packageJson.devDependencies, ...packageJson.dependencies }
  for (const [name, version] of Object.entries(clientPackage.dependencies)) expect(version, name).toBe(tested[name])
  for (const [name, range] of Object.entries(clientPackage.peerDependencies)) {
    expect(
      range.split(' || ').map((part) => part.replace(/^\D*(\d+)\..*$/, '$1')),
      name,
    ).toContain(tested[name]?.split('.')[0])
  }
})
