import { globSync } from 'node:fs'
import { buildSchema, getNamedType, getNullableType, isAbstractType, isListType, isObjectType } from 'graphql'
import { describe, expect, it } from 'vitest'
import * as lists from '../../examples/frontends/cache-lists.ts'
import { projectRoot, readBlocks, readPage } from '../support/docs.ts'

const pages = ['docs/frontends.md', ...globSync('docs/recipes/*.md', { cwd: projectRoot })]

/** The code that a page shows, and the file that it names before each. Commands have tests of their own. */
const snippetsOf = (page: string) =>
  readBlocks(page)
    .filter(({ language }) => !['sh', 'graphql'].includes(language))
    .map(({ intro, code }) => ({ file: /\(`(examples\/[^`]+)`\):$/.exec(intro)?.[1] ?? '', intro, code }))

it.each(pages)('%s shows code of the examples, which tests run', (page) => {
  const snippets = snippetsOf(page)
  expect(snippets.length).toBeGreaterThan(0)
  for (const { file, intro, code } of snippets) {
    expect(file, intro).not.toBe('')
    // A file is shown with its imports and whole, or in part.
    if (code.startsWith('import ')) expect(code, intro).toBe(readPage(file))
    else expect(readPage(file), intro).toContain(code)
  }
})

it('each file of examples/frontends is shown', () => {
  const shown = pages.flatMap((page) => snippetsOf(page).map(({ file }) => file))
  const files = globSync('examples/frontends/**/*', { cwd: projectRoot, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath.slice(projectRoot.length + 1)}/${entry.name}`)
  expect(files.length).toBeGreaterThan(15)
  expect(files.filter((file) => !shown.includes(file))).toEqual([])
})

describe('the lists of examples/frontends/cache-lists.ts name what schema.graphql has', () => {
  const schema = buildSchema(readPage('schema.graphql'))
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'))
  const objects = types.filter(isObjectType)
  const fields = objects.flatMap((type) =>
    Object.values(type.getFields()).map((field) => ({
      parent: type.name,
      name: field.name,
      type: field.type,
      args: field.args,
    })),
  )

  it('interfaces and the types of their objects', () => {
    const abstract = types.filter(isAbstractType)
    const possible = abstract.map((type) => [
      type.name,
      schema
        .getPossibleTypes(type)
        .map(({ name }) => name)
        .sort(),
    ])
    expect(lists.possibleTypes).toEqual(Object.fromEntries(possible))
  })

  it('the arguments that make another list', () => {
    const paged: Record<string, Record<string, string[]>> = {}
    for (const { parent, name, args } of fields) {
      if (!args.some((arg) => arg.name === 'after') || parent === 'Subscription') continue
      const others = args.map((arg) => arg.name).filter((arg) => !['first', 'after', 'last', 'before'].includes(arg))
      paged[parent] = { ...paged[parent], [name]: others }
    }
    expect(lists.pagedLists).toEqual(paged)
  })

  it('types without an id, and which of them a field has one of', () => {
    const isOfLists = /^(Query|Mutation|Subscription|PageInfo)$|(Connection|Edge|Payload)$/
    const unnamed = objects.filter((type) => !type.getFields()['id'] && !isOfLists.test(type.name))
    const listed = [...lists.parts, ...lists.singletons, ...lists.statistics]
    expect(listed.sort()).toEqual(unnamed.map(({ name }) => name).sort())
    const single = fields.filter(({ type }) => !isListType(getNullableType(type))).map(({ type }) => getNamedType(type))
    const merged = unnamed.filter((type) => single.includes(type) && !lists.singletons.includes(type.name))
    // Errors and leases belong to one attempt, and changes of a list to one event: they are replaced.
    const replaced = lists.parts.filter((name) => /^Job(Error|Lease)$|ListChange$/.test(name))
    expect([...lists.statistics, ...replaced].sort()).toEqual(merged.map(({ name }) => name).sort())
  })

  it('deletions, and the lists and numbers that they change', () => {
    const deletions = fields.filter(({ name }) => /^(deleted|unlinked)\w+Ids?$/.test(name))
    expect(deletions.map(({ name }) => name).sort()).toEqual(Object.keys(lists.deletedIds).sort())
    const mutations = Object.keys(schema.getMutationType()?.getFields() ?? {})
    expect(lists.deletingMutations).toEqual(mutations.filter((name) => /^(delete|unlink)/.test(name)))
    const deleted = Object.values(lists.deletedIds).concat('Stats').join('|')
    const counted = fields.filter(({ parent, type }) => {
      const isCounted = new RegExp(`^(${deleted})(Connection|Stats)$|Stats$`).test(getNamedType(type).name)
      return parent === 'Query' && isCounted
    })
    expect(lists.countedFields).toEqual(counted.map(({ name }) => name).sort())
  })
})
