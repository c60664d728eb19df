// Compares the reader of feeds in src/domain/job/handlers/feed/ with packages: the ids in feeds that others publish for
// tests, and hostile feeds. It downloads nothing.
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { decodeText } from '../src/domain/job/handlers/feed/feed.worker.ts'
import { inputs } from './feeds/inputs.js'
import { createReader, readerNames } from './feeds/readers.js'
import { readOptions } from './options.js'

/** Repositories of GitHub, their commits, and the folders with feeds. */
const sources = {
  'kurtmckee/feedparser': ['a22c5521cbb109871f1a2318948581901bd47e26', 'tests'],
  'mmcdole/gofeed': ['e010ca02e0eb28daf544c0447fdd64e4e99d5c5e', 'testdata'],
  'rowanmanning/sample-feeds': ['405abd418f892b293873b72c48ea507e2e6a9972', 'content'],
  'danmactough/node-feedparser': ['7ceba26c974c4b6e4ec422ee2ba1e469d9490368', 'test/feeds'],
  'feedjira/feedjira': ['c6efa980556aae4d1b8b0e4115c2801c04043935', 'spec/sample_feeds'],
  'arminreiter/FeedReader': ['a4f561b6ef3d771460a39156ab11a77f0539ce3e', 'FeedReader.Tests/Feeds'],
  'macieklamberski/feedsmith': ['d915e937f6ff15763c0b666fb63b30f0078c97b2', 'src/feeds'],
}

const list = Object.entries(sources).map(([name, [commit, folder]]) => `  ${name}/${folder} of ${commit}`)
const usage = `PYTHONPATH=FEEDPARSER node bench/feeds.js --packages DIR --fixtures DIR [--show READER]

  --packages  a folder in which npm has installed ${readerNames.slice(1).join(', ')}
  --fixtures  a folder with these repositories, in folders of their names:
${list.join('\n')}
  --show      prints the files that a reader reads otherwise than feedparser
  PYTHONPATH  where Python finds feedparser and feedparser_sgmllib: what feedparser reads is the reference
`
const { packages, fixtures, show } = readOptions(
  usage,
  { packages: undefined, fixtures: undefined, show: undefined },
  {},
)
if (!packages || !fixtures) throw new Error(usage)

const files = Object.entries(sources).flatMap(([name, [, folder]]) =>
  readdirSync(path.join(fixtures, name, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(md|py|go|ts)$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name)),
)
const script = path.join(import.meta.dirname, 'feeds/reference.py')
const reference = JSON.parse(
  execFileSync('python3', [script], { input: files.join('\n'), maxBuffer: 1e9, stdio: ['pipe', 'pipe', 'inherit'] }),
)
/** Some packages return an object in the place of a text. */
const textOf = (value) => (typeof value === 'object' && value ? JSON.stringify(value) : String(value)).trim()
const identify = ({ id, link }) => textOf(id || link || '')
const compared = Object.entries(reference).filter(([, { items }]) => items.some(identify))
const withGroup = compared.filter(([, { group }]) => group)
process.stdout.write(
  `${files.length} files, ${compared.length} with an id, ${withGroup.length} of them with one of the feed\n`,
)

const print = (rows) => process.stdout.write(`${rows.map((row) => row.join(' | ')).join('\n')}\n\n`)
const kinds = ['same', 'without ids', 'other ids', 'other items', 'refused']
const rows = []
const ours = new Map()
for (const name of readerNames) {
  const read = await createReader(name, packages)
  const counts = Object.fromEntries([...kinds, 'groups', 'unlike ours'].map((kind) => [kind, 0]))
  for (const [file, { items, group, contentType }] of compared) {
    const feed = await Promise.resolve(decodeText(readFileSync(file), contentType ?? '').text)
      .then(read)
      .catch(() => undefined)
    const ids = feed?.items.map(identify)
    const kind = ids ? compare(ids, items.map(identify)) : 'refused'
    counts[kind] += 1
    if (feed && group && feed.groups.some((id) => textOf(id) === group.trim())) counts.groups += 1
    if (name === 'ours') ours.set(file, ids?.filter(Boolean))
    else if (ours.get(file) && String(ours.get(file)) !== String(ids?.filter(Boolean))) counts['unlike ours'] += 1
    if (name === show && kind !== 'same') {
      process.stdout.write(`${kind}: ${file}\n  ${items.map(identify).join(' ')}\n  ${ids?.join(' ')}\n`)
    }
  }
  rows.push([name, ...Object.values(counts)])
}
print([['', ...kinds, 'groups', 'unlike ours'], ...rows])

print([
  ['', ...readerNames],
  ...Object.keys(inputs).map((input) => [input, ...readerNames.map((name) => readLimited(name, input))]),
])

/** Compares ids with those of the reference. An item that has none there counts for neither. */
function compare(ids, expected) {
  if (String(ids.filter(Boolean)) === String(expected.filter(Boolean))) return 'same'
  if (ids.length !== expected.length) return 'other items'
  const differing = ids.filter((id, index) => expected[index] && id !== expected[index])
  if (differing.length === 0) return 'same'
  return differing.every((id) => id === '') ? 'without ids' : 'other ids'
}

function readLimited(name, input) {
  const child = spawnSync(process.execPath, [
    path.join(import.meta.dirname, 'feeds/read-limited.js'),
    name,
    packages,
    input,
  ])
  if (child.status !== 0) return 'ends the process'
  const { outcome, seconds, mib } = JSON.parse(child.stdout)
  return seconds === undefined ? outcome : `${outcome} (${seconds.toFixed(2)} s, ${mib} MiB)`
}
