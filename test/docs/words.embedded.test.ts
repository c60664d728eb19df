import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { projectRoot } from '../support/docs.ts'

/**
 * Retired words that have another sense, which may stay: only the retired sense matches. Other retired words must not
 * occur at all.
 */
const patterns: Record<string, RegExp> = {
  answer:
    /\b(an|the|its|their|each|every|no|this|first|last|stored|idempotent|partial|long|longer|longest|short|shorter|json|whole|full|same|unread|single|of|for) answers?\b|\banswers? (of|to)\b|\| answers? \|/i,
  turn: /\b(its|their|fair|takes?) turns?\b|\bturns? (of|between) (a |the )?(keys?|tenants?|clients?)\b|\ba turn\b/i,
}

/** The first words of the rows of a table. */
function wordsOf(section: string): string[] {
  return [...section.matchAll(/^\| (\w+)[^|]*\|/gm)].map(([, word = '']) => word).filter((word) => word !== 'Word')
}

const [, section = ''] = readFileSync(path.join(projectRoot, 'docs/glossary.md'), 'utf8').split('## Retired words')
const retired = wordsOf(section)

it('docs/glossary.md lists retired words', () => expect(retired).toContain('answer'))

it.each(retired)('nothing says "%s"', (word) => {
  const pattern = patterns[word] ?? new RegExp(`\\b${word}s?\\b`, 'i')
  const files = globSync(
    [
      '{src,test,bench,examples,clients}/**/*.{ts,js,css,graphql}',
      'docs/**/*.md',
      'prisma/schema.prisma',
      '{README,CONTRIBUTING,SECURITY}.md',
      'schema.graphql',
    ],
    {
      cwd: projectRoot,
      exclude: ['**/{generated,node_modules,dist,.next}/**', 'docs/licences.md', 'test/{docs/words,fixtures/release}*'],
    },
  )
  const found = files.flatMap((file) => {
    const text = readFileSync(path.join(projectRoot, file), 'utf8')
    const searched = file === path.join('docs', 'glossary.md') ? text.replace(section, '') : text
    return searched
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : []))
  })
  expect(found).toEqual([])
})

it('no comment is longer than 120 columns', () => {
  const files = globSync('{src,test,bench,tools}/**/*.{ts,js}', {
    cwd: projectRoot,
    exclude: ['**/{generated,node_modules}/**', '**/*.generated.ts'],
  })
  const found = files.flatMap((file) =>
    readFileSync(path.join(projectRoot, file), 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        line.length > 120 && /^ *(\/\/|\/?\*)/.test(line) && !line.includes('://') ? [`${file}:${index + 1}`] : [],
      ),
  )
  expect(found).toEqual([])
})
