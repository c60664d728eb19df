import fc from 'fast-check'
import { days, ids, names, views } from './open-blogs.ts'

// Random arguments of `findMany`, and what an untouched Prisma Client takes instead of them.

type Json = fc.Arbitrary<object>

const texts = fc.constantFrom('a', 'A', '%', '_', "'", 'ë', '0%', '')
const signs = fc.constantFrom('lt', 'lte', 'gt', 'gte')
const patterns = fc.constantFrom('contains', 'startsWith', 'endsWith', 'not')

/** A condition on one of some fields. */
const on = (fields: readonly string[], value: fc.Arbitrary<unknown>): Json =>
  fc.tuple(fc.constantFrom(...fields), value).map(([field, given]) => ({ [field]: given }))

/** `{ [operator]: value }` */
const test = (operators: fc.Arbitrary<string>, value: fc.Arbitrary<unknown>): Json =>
  fc.tuple(operators, value).map(([operator, given]) => ({ [operator]: given }))

const oneOf = (values: readonly unknown[]) => test(fc.constantFrom('in', 'notIn'), fc.subarray([...values]))
const search = test(fc.constantFrom('contains', 'startsWith', 'endsWith'), texts).map((given) => {
  return { ...given, mode: 'insensitive' }
})

/**
 * Conditions of each model. Left out is what Prisma Client takes in another way: empty AND and OR, and conditions on a
 * nullable field of an only related row.
 */
export const wheres = fc.letrec<Record<'author' | 'itsAuthor' | 'post' | 'itsPost' | 'comment' | 'itsComment', object>>(
  (tie) => {
    const composed = (leaf: Json, itself: Json) =>
      fc.oneof(
        { depthSize: 'small' },
        leaf,
        leaf,
        fc.tuple(leaf, leaf).map(([one, other]) => ({ ...one, ...other })),
        fc.record({ AND: fc.array(itself, { minLength: 1, maxLength: 2 }) }),
        fc.record({ OR: fc.array(itself, { minLength: 1, maxLength: 2 }) }),
        fc.record({ NOT: fc.oneof(itself, fc.array(itself, { minLength: 1, maxLength: 2 })) }),
      )
    const many = fc.constantFrom('some', 'none', 'every')
    const one = fc.constantFrom('is', 'isNot')
    const itsAuthor = fc.oneof(
      on(['name'], fc.oneof(fc.constantFrom(...names), oneOf(names), test(patterns, texts), search)),
      on(['createdAt'], test(signs, fc.constantFrom(...days))),
      on(['id'], oneOf(ids.author)),
      on(['posts', 'reviewed'], test(many, tie('post'))),
      on(['comments'], test(many, tie('comment'))),
    )
    const author = fc.oneof(
      itsAuthor,
      on(['email', 'bornOn'], fc.constantFrom(null, { not: null })),
      on(['email'], fc.oneof(oneOf(['0@example.com', 'x']), test(patterns, texts), search)),
      on(['bornOn'], test(fc.oneof(signs, fc.constant('equals')), fc.constantFrom(new Date('2026-01-01'), ...days))),
    )
    const itsPost = fc.oneof(
      on(['title'], fc.oneof(test(patterns, texts), search)),
      on(['status'], fc.oneof(fc.constantFrom('DRAFT', { not: 'ARCHIVED' }), oneOf(['DRAFT', 'PUBLISHED']))),
      on(['rating'], test(signs, fc.constantFrom(0, 1 / 3, 0.5))),
      on(['isPinned'], fc.boolean()),
      on(['createdAt', 'updatedAt'], test(signs, fc.constantFrom(...days))),
      on(['author'], fc.oneof(tie('itsAuthor'), test(one, tie('itsAuthor')))),
      on(['comments'], test(many, tie('comment'))),
      on(
        ['tags'],
        test(many, fc.constantFrom({ tagId: 't_1' }, { tag: { name: 'Tag 2' } }, { NOT: { tagId: 't_3' } })),
      ),
    )
    const count = fc.constantFrom(...views.filter((value) => value !== null), -1)
    const post = fc.oneof(
      itsPost,
      on(['views'], test(fc.oneof(signs, fc.constantFrom('equals', 'not')), count)),
      on(['views', 'reviewerId'], fc.constantFrom(null, { not: null })),
      on(['reviewer'], test(one, tie('itsAuthor'))),
    )
    const itsComment = fc.oneof(
      on(['text'], test(patterns, texts)),
      on(['post'], test(one, tie('itsPost'))),
      on(['author'], test(one, tie('itsAuthor'))),
      on(['replies'], test(many, tie('comment'))),
    )
    const comment = fc.oneof(itsComment, on(['replyTo'], test(one, tie('itsComment'))))
    return {
      author: composed(author, tie('author')),
      itsAuthor: composed(itsAuthor, tie('itsAuthor')),
      post: composed(post, tie('post')),
      itsPost: composed(itsPost, tie('itsPost')),
      comment: composed(comment, tie('comment')),
      itsComment: composed(itsComment, tie('itsComment')),
    }
  },
)

const take = fc.constantFrom(0, 1, 3, 100)
const direction = fc.constantFrom('asc' as const, 'desc' as const)
const orderBy = (...fields: string[]): fc.Arbitrary<object[]> =>
  fc.tuple(fc.constantFrom(...fields), direction).map(([field, sort]) => [{ [field]: sort }, { id: sort }])

/** Some of these fields, and the id. */
const select = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record({ id: fc.constant(true), ...fields }, { requiredKeys: ['id'] })
const whole = fc.constant(true)

const comments = fc.record({
  where: wheres.comment,
  orderBy: orderBy('createdAt', 'text'),
  take,
  select: select({
    text: whole,
    author: fc.constantFrom(true, { select: { name: true, email: true } }),
    replyTo: fc.constant({ select: { id: true, replies: { orderBy: { id: 'asc' }, select: { id: true } } } }),
  }),
})

/** Arguments of `findMany` of posts. */
export const posts = fc.record({
  where: wheres.post,
  orderBy: fc.oneof(
    orderBy('createdAt', 'updatedAt', 'title', 'rating', 'status'),
    direction.map((sort) => [{ views: { sort, nulls: 'last' } }, { id: sort }]),
    fc.constant([{ status: 'asc' }, { rating: 'desc' }, { id: 'asc' }]),
  ),
  take,
  select: select({
    views: whole,
    labels: whole,
    scores: whole,
    reads: whole,
    meta: whole,
    status: whole,
    isPinned: whole,
    rating: whole,
    updatedAt: whole,
    author: fc.constantFrom(true, { select: { bornOn: true, reviewed: { take: 2, orderBy: { id: 'asc' } } } }),
    reviewer: whole,
    comments,
    tags: fc.constant({ orderBy: { id: 'asc' }, select: { tag: { select: { name: true } } } }),
  }),
})

/** The same for an untouched Prisma Client, which takes `%` and `_` in a text as wildcards. */
export function forPrisma<Value>(value: Value): Value {
  const convert = (one: unknown): unknown => {
    if (Array.isArray(one)) return one.map(convert)
    if (typeof one !== 'object' || one === null || one instanceof Date) return one
    return Object.fromEntries(
      Object.entries(one).map(([name, inner]) => {
        const isPattern = ['contains', 'startsWith', 'endsWith'].includes(name)
        return [name, isPattern ? String(inner).replace(/[\\%_]/g, '\\$&') : convert(inner)]
      }),
    )
  }
  return convert(value) as Value
}
