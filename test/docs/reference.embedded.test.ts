import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { getOperationAST, getVariableValues, parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { environment, readConfig, removedVariables } from '../../src/config.ts'
import { schemas } from '../../src/domain/schema.graphql.ts'
import { scripts } from '../../tools/scripts.ts'
import { projectRoot, readBlocks, readPage } from '../support/docs.ts'

const { schema } = schemas

const pages = globSync(['*.md', 'docs/**/*.md', 'bench/*.md', 'examples/*/*.md', 'packages/*/README.md'], {
  cwd: projectRoot,
})

const sources = globSync('{src,packages,test,bench,tools}/**/*.{ts,js}', {
  cwd: projectRoot,
  exclude: ['**/{node_modules,generated}/**', '**/*.generated.ts'],
})

/** The variables that a process reads. */
const variables = Object.keys(environment.shape)

/** The words in `code` of the first column of the tables of a page. */
const firstColumn = (file: string) =>
  [...readPage(file).matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word),
  )

describe('the documentation', () => {
  it.each(pages)('%s has no broken link', (page) => {
    const headings = (file: string) =>
      [...readPage(file).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-'))
    for (const [, target = ''] of readPage(page).matchAll(/\]\(([^)]+)\)/g)) {
      if (target.startsWith('http')) continue
      const [file = '', anchor] = target.split('#')
      const found = file === '' ? page : path.join(path.dirname(page), file)
      expect(existsSync(path.join(projectRoot, found)), target).toBe(true)
      if (anchor !== undefined) expect(headings(found), target).toContain(anchor)
    }
  })

  it('has an index of its pages', () => {
    const listed = [...readPage('docs/README.md').matchAll(/^\| .*\[[^\]]+\]\(([^)]+)\)/gm)].map(
      ([, file = '']) => file,
    )
    const files = globSync(['*.md', '{recipes,start}/*.md'], {
      cwd: path.join(projectRoot, 'docs'),
      exclude: ['README.md'],
    })
    expect(listed).toEqual(expect.arrayContaining(files))
  })

  it('names only files that exist', () => {
    for (const page of pages.filter((name) => name !== 'CHANGELOG.md' && name !== 'CONTRIBUTING.md')) {
      for (const [, file = ''] of readPage(page).matchAll(
        /`((?:src|packages|test|bench|tools|prisma|examples|deploy)\/[\w./-]+)`/g,
      )) {
        // The pages of examples and packages name files of their own folder.
        const folders = /^(examples|packages)\//.test(page) ? [path.dirname(page), '.'] : ['.']
        const places = folders.map((folder) => path.join(projectRoot, folder, file))
        // Tests are named without their suffixes.
        const found = file.startsWith('test/')
          ? globSync(places.map((place) => `${place}*`))
          : places.filter(existsSync)
        expect(found, `${page}: ${file}`).not.toEqual([])
      }
    }
  })

  it('and the source name only scripts that exist', () => {
    const named = [...pages, ...sources, '.ci/run', 'deploy/image/Dockerfile'].flatMap((file) =>
      [...readPage(file).matchAll(/\bnpm run (?:-s |--silent )?([\w:]+)(?: -- ([\w:]+))?/g)].map(
        ([, script = '', name]) => ({ file, script, name }),
      ),
    )
    const files = ['package.json', ...globSync('examples/*/package.json', { cwd: projectRoot })]
    const existing = new Set(files.flatMap((file) => Object.keys(JSON.parse(readPage(file)).scripts ?? {})))
    const exists = ({ script, name }: (typeof named)[number]) => {
      const entries = name === undefined ? undefined : scripts[script]
      return (
        existing.has(script) && (!entries || Object.hasOwn({ ...entries.byDefault, ...entries.byName }, name ?? ''))
      )
    }
    expect(named.length).toBeGreaterThan(200)
    expect(named.filter((one) => !exists(one))).toEqual([])
  })

  it('exists where the source refers to it', () => {
    for (const file of sources) {
      for (const [page] of readPage(file).matchAll(/docs\/[\w/-]+\.md/g)) {
        expect(existsSync(path.join(projectRoot, page)), `${file}: ${page}`).toBe(true)
      }
    }
  })

  it('describes every variable of the configuration, and .env.example has the defaults', () => {
    expect(firstColumn('docs/configuration.md').filter((word) => /^[A-Z_]+$/.test(word ?? ''))).toEqual(
      expect.arrayContaining(variables),
    )
    const example = readPage('.env.example').matchAll(/^([A-Z_]+)=(.*)$/gm)
    const values = Object.fromEntries([...example].map(([, name = '', value]) => [name, value]))
    expect(Object.keys(values).toSorted()).toEqual(variables.toSorted())
    expect(readConfig(values)).toEqual(readConfig({}))
  })

  it('names every variable that was removed in the changelog only', () => {
    const [changelog, ...others] = ['CHANGELOG.md', ...pages.filter((page) => page !== 'CHANGELOG.md')].map(readPage)
    for (const name of Object.keys(removedVariables)) {
      expect(changelog).toContain(`\`${name}\``)
      const inCode = new RegExp(`\`${name}[=\`]`)
      // Of the error with this code, there is no other name.
      if (name !== 'REQUEST_TIMEOUT') expect(others.filter((page) => inCode.test(page))).toEqual([])
    }
  })

  it('lists every dependency', () => {
    const own = globSync('packages/*/package.json', { cwd: projectRoot }).map((file) => JSON.parse(readPage(file)))
    const { dependencies, devDependencies } = packageJson
    const lists = [...own, { dependencies }, { dependencies: devDependencies }].map((list) => list.dependencies)
    const names = new Set(lists.flatMap((list) => Object.keys(list)))
    const others = [...names].filter((name) => !own.some((one) => one.name === name))
    expect(firstColumn('docs/dependencies.md').toSorted()).toEqual(others.toSorted())
  })

  it.each(pages.flatMap((page) => readBlocks(page).filter(({ language }) => language === 'graphql')))(
    'has a valid operation: $intro',
    ({ code }) => expect(validate(schema, parse(code))).toEqual([]),
  )
})

describe('the tabs of GraphiQL', () => {
  const folder = path.join(projectRoot, 'src/domain/graphiql-tabs')
  const tabs = globSync('*.graphql', { cwd: folder }).map((file) => file.replace('.graphql', ''))

  it('name each other as their operations are named', () => {
    const texts = tabs.map((tab) => readFileSync(path.join(folder, `${tab}.graphql`), 'utf8'))
    const names = texts.map((text) => getOperationAST(parse(text))?.name?.value)
    const named = texts.flatMap((text) =>
      [...text.matchAll(/^#.*$/gm)].flatMap(([comment]) => comment.match(/(?<=Run )\w+|\b[A-Z][a-z]+[A-Z]\w*/g) ?? []),
    )
    expect(named.length).toBeGreaterThan(1)
    expect(names).toEqual(expect.arrayContaining(named))
  })

  it('have all files of variables', () => {
    const files = globSync('*.json', { cwd: folder }).map((file) => file.replace('.json', ''))
    expect(files.length).toBeGreaterThan(5)
    expect(tabs).toEqual(expect.arrayContaining(files))
  })

  it.each(tabs)('can be run as they are: %s', (tab) => {
    const document = parse(readFileSync(path.join(folder, `${tab}.graphql`), 'utf8'))
    expect(validate(schema, document)).toEqual([])
    const file = path.join(folder, `${tab}.json`)
    const variables = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
    const definitions = getOperationAST(document)?.variableDefinitions ?? []
    expect(getVariableValues(schema, definitions, variables).errors).toBeUndefined()
  })
})
