// The scripts of package.json that take a name: `npm run bench -- webhooks`, `npm run suite -- memory`,
// `npm run check -- types imports`. Each prints its names with --help.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import path from 'node:path'

interface Entry {
  readonly about: string
  /** A folder with packages of its own, which the commands need. */
  readonly packages?: string
  /** They run one after the other, until one fails. The last gets the options of the command line. */
  readonly commands: readonly string[]
}

type Entries = Readonly<Record<string, Entry>>

interface Script {
  /** What runs if nothing is named. */
  readonly byDefault: Entries
  /** What runs only if it is named. */
  readonly byName: Entries
  /** Whether several can be named. */
  readonly takesSeveral?: boolean
}

const tsc = 'node node_modules/typescript-native/bin/tsc'
const schemaFiles = 'schema.graphql src/domain/graphiql-tabs packages/console/src/operations tools/graphql/operations'

const bench: Script = {
  byDefault: {
    peers: { about: 'the gateway and its peers', packages: 'bench', commands: ['node bench/run.js'] },
  },
  byName: {
    bulk: { about: 'what bulk writes save', commands: ['node bench/bulk.js'] },
    compression: { about: 'what compressing responses costs', commands: ['node bench/compression.js'] },
    events: { about: 'what the event log costs writes', commands: ['node bench/events.js'] },
    live: { about: 'what live queries cost, and how soon results arrive', commands: ['node bench/live.js'] },
    followers: { about: 'how soon many followers receive an event', commands: ['node bench/followers.js'] },
    growth: { about: 'what a tenant costs by its number of users', commands: ['node bench/growth.js'] },
    history: { about: 'what histories of profiles take', commands: ['node bench/history.js'] },
    memory: { about: 'what a gateway keeps in memory after load', commands: ['node bench/memory.js'] },
    neighbours: { about: 'what other clients see while one attacks', commands: ['node bench/neighbours.js'] },
    processes: { about: 'two processes and one', packages: 'bench', commands: ['node bench/processes.js'] },
    searches: { about: 'searches of a large tenant', commands: ['node bench/searches.js'] },
    start: { about: 'what starts cost', commands: ['node bench/start.js'] },
    tenants: { about: 'the work for all tenants', commands: ['node bench/tenants.js'] },
    versions: { about: 'this gateway and an earlier commit', commands: ['node bench/versions.js'] },
    webhooks: { about: 'deliveries to webhooks', commands: ['node bench/webhooks.js'] },
  },
}

const suite: Script = {
  byDefault: {},
  byName: {
    campaign: { about: 'random faults and hostile clients together', commands: ['node test/campaign/campaign.ts'] },
    differential: { about: 'random operations and a reference', commands: ['node test/differential/run.ts'] },
    distributed: { about: 'the tests on tables that Citus distributes', commands: ['node test/distributed/run.ts'] },
    memory: { about: 'reads from memory while a server fails', commands: ['node test/memory/check.ts'] },
    mutants: { about: 'the tests with a changed line of the source', commands: ['node test/mutants.ts'] },
    postgres: { about: 'the tests on PostgreSQL, and its plans', commands: ['node test/partitions/run.ts'] },
    soak: { about: 'a gateway under load', commands: ['node test/soak/soak.ts'] },
  },
}

const check: Script = {
  takesSeveral: true,
  byDefault: {
    lint: { about: 'format and lint', commands: ['biome check --error-on-warnings'] },
    types: {
      about: 'types',
      commands: [
        tsc,
        `${tsc} --project packages/console/src/files`,
        `${tsc} --project packages/client --noEmit`,
        `${tsc} --project packages/prisma-trees/test`,
        `${tsc} --project packages/pothos-trees/test`,
      ],
    },
    names: { about: 'reads of objects under names of callers', commands: ['node tools/names/check.ts'] },
    unused: { about: 'unused code and packages', commands: ['knip'] },
    imports: {
      about: 'directions of imports',
      commands: ['depcruise --config .dependency-cruiser.json src packages test'],
    },
    licences: {
      about: 'hashes and licences of packages; --write writes docs/licences.md',
      commands: ['node tools/packages/licences.js'],
    },
    drift: {
      about: 'generated files, and words of the glossary',
      commands: ['vitest run test/db/drift.slow.test.ts test/docs/words.embedded.test.ts'],
    },
    suite: { about: 'what the tests take', commands: ['node tools/suite.ts --check'] },
  },
  byName: {
    graphql: {
      about: 'the schema, operations, and the subgraph',
      packages: 'tools/graphql',
      commands: [
        'node tools/graphql/write-operations.js',
        `tools/graphql/node_modules/.bin/eslint --config tools/graphql/eslint.config.js --max-warnings 0 ${schemaFiles}`,
        'node tools/supergraph/check.ts',
      ],
    },
    image: { about: 'the image; --build builds it in any case', commands: ['node tools/image/check.ts'] },
    openapi: {
      about: 'the OpenAPI document',
      packages: 'tools/openapi',
      commands: ['npm test --prefix tools/openapi'],
    },
    release: {
      about: 'what a release lacks; --set VERSION writes the version',
      commands: ['node tools/release/check.ts'],
    },
  },
}

export const scripts: Readonly<Record<string, Script>> = { bench, suite, check }

const root = path.resolve(import.meta.dirname, '..')

function describe(script: string): string {
  const { byDefault, byName, takesSeveral } = scripts[script] as Script
  const list = (entries: Entries) =>
    Object.entries(entries)
      .map(([name, { about }]) => `  ${name.padEnd(13)} ${about}\n`)
      .join('')
  const name = takesSeveral ? 'NAME …' : 'NAME'
  const [always, others] = [list(byDefault), list(byName)]
  if (always === '') return `npm run ${script} -- ${name} [OPTIONS]\n\n${others}`
  return `npm run ${script} [-- ${name} [OPTIONS]]\n\nIf none is named:\n\n${always}\nOnly if named:\n\n${others}`
}

/**
 * Reads what follows the script on the command line: names, and options for the command.
 *
 * @throws Error saying what is wrong
 */
function readArguments(script: string, args: readonly string[]): { names: string[]; options: readonly string[] } {
  const { byDefault, byName, takesSeveral } = scripts[script] as Script
  const firstOption = args.findIndex((arg) => arg.startsWith('-'))
  const words = args.slice(0, firstOption === -1 ? undefined : firstOption)
  const named = takesSeveral ? words : words.slice(0, 1)
  const options = args.slice(named.length)
  const names = named.length > 0 ? named : Object.keys(byDefault)
  const unknown = names.find((name) => !Object.hasOwn({ ...byDefault, ...byName }, name))
  if (unknown !== undefined) throw new Error(`npm run ${script} has no ${unknown}.`)
  if (names.length === 0) throw new Error(`npm run ${script} needs a name.`)
  if (names.length > 1 && options.length > 0) throw new Error(`Name what gets the option ${options[0]}.`)
  return { names, options }
}

/** Runs a command. Returns its exit code. After Ctrl-C or SIGTERM nothing runs any more. */
async function run(command: string, options: readonly string[]): Promise<number> {
  const [file = '', ...args] = command.split(' ')
  const child = spawn(file, [...args, ...options], { cwd: root, stdio: 'inherit' })
  let isOver = false
  const end = (signal: NodeJS.Signals) => {
    isOver = true
    // Ctrl-C reaches the command by itself, which decides when it ends.
    if (signal === 'SIGTERM') child.kill(signal)
  }
  process.on('SIGTERM', end).on('SIGINT', end)
  const [code] = (await once(child, 'exit')) as [number | null]
  process.off('SIGTERM', end).off('SIGINT', end)
  if (isOver) process.exit(code || 1)
  return code ?? 1
}

/** Whether the packages of a folder are those of its lock file: `npm ci` ends with a list of what it has installed. */
function areInstalled(folder: string): boolean {
  const changed = (file: string) => statSync(path.join(root, folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return changed('node_modules/.package-lock.json') > changed('package-lock.json')
}

async function runEntry(script: string, name: string, options: readonly string[]): Promise<number> {
  const { byDefault, byName } = scripts[script] as Script
  const { packages, commands } = { ...byDefault, ...byName }[name] as Entry
  if (packages && !areInstalled(packages)) {
    const code = await run(`npm ci --prefix ${packages} --no-fund --no-audit --ignore-scripts`, [])
    if (code !== 0) return code
  }
  for (const [index, command] of commands.entries()) {
    const code = await run(command, index === commands.length - 1 ? options : [])
    if (code !== 0) return code
  }
  return 0
}

/** Runs all that are named, although some fail, and then lists these. Returns the exit code. */
async function runAll(script: string, names: readonly string[]): Promise<number> {
  const failed: string[] = []
  for (const name of names) {
    process.stdout.write(`--- ${name}\n`)
    if ((await runEntry(script, name, [])) !== 0) failed.push(name)
  }
  if (failed.length === 0) return 0
  process.stderr.write(`Failed. To repeat: npm run ${script} -- ${failed.join(' ')}\n`)
  return 1
}

async function main(script: string, args: readonly string[]): Promise<number> {
  const help = describe(script)
  if (args[0] === '--help') {
    process.stdout.write(help)
    return 0
  }
  try {
    const { names, options } = readArguments(script, args)
    const [name = ''] = names
    return names.length === 1 ? await runEntry(script, name, options) : await runAll(script, names)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${help}`)
    return 2
  }
}

if (import.meta.main) {
  const [script = '', ...args] = process.argv.slice(2)
  process.exitCode = await main(script, args)
}
