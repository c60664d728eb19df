import { createTrees } from '@fusion-gateway/citus'
import { statement } from '@fusion-gateway/sql'
import { expect, it } from 'vitest'

/** A tree, as the preparation of a document creates it: another object each time. */
const treeWith = (column: string) => ({ ...statement(`SELECT ${column} FROM "user" AS u`), isTree: true })

it('a shard has the trees that were read last, however many documents were prepared', () => {
  const treeOf = createTrees(new Map([['user', 'user_102014']]), 'TRUE')
  const first = treeOf(treeWith('a'))
  expect(first?.text).toBe('SELECT * FROM (SELECT a FROM user_102014 AS u) AS tree WHERE TRUE')
  for (let count = 0; count < 20; count += 1) expect(treeOf(treeWith('a'))).toBe(first)
  for (let count = 0; count < 20; count += 1) {
    expect(treeOf(treeWith(`b${count}`))?.text).toContain(`SELECT b${count} FROM user_102014`)
    expect(treeOf(treeWith('a'))).toBe(first)
  }
  for (let count = 0; count < 8; count += 1) treeOf(treeWith(`c${count}`))
  expect(treeOf(treeWith('a'))).not.toBe(first)
  expect(treeOf(statement('SELECT a FROM "user" AS u'))).toBeUndefined()
})
