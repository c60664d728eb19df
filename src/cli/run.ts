import { OperatorError } from '@fusion-gateway/base'
import { CommanderError } from 'commander'
import type { Io } from './io.ts'
import { createProgram } from './program.ts'

/**
 * Runs a command to its end.
 *
 * @param args of the command: `['keys', 'list']`
 * @param io what it reads and writes. `serve`, `work`, `mcp` and `webhooks listen` also use signals and streams of the
 *   process itself
 * @returns the exit code, also in `io.exitCode`: 0 success, 1 failure, 2 wrong usage
 */
export async function run(args: readonly string[], io: Io): Promise<number> {
  try {
    await createProgram(io).parseAsync(args, { from: 'user' })
  } catch (error) {
    io.exitCode = await report(error, args, io)
  }
  return Number(io.exitCode ?? 0)
}

/** What replaces commands of earlier versions, and those that do not exist but can be expected. */
const replacements = {
  events: 'The query `events` of the API lists what has changed: docs/events.md.',
  'webhooks list': 'The query `webhooks` of the API and the console list webhooks: docs/webhooks.md.',
  'webhooks trigger': 'Forward real events with: npm run fusion -- webhooks listen --forward URL',
  'signing-keys list': 'The gateway lists the public keys at /.well-known/jwks.json.',
  'migrate resolve': 'Failed migrations are applied again by: npm run fusion -- migrate deploy',
  'tenants export': 'Use: npm run fusion -- export --tenant NAME',
  'migrate contract': 'Use: npm run fusion -- migrate deploy --contract',
  'migrate new': 'Use: npm run migration -- NAME',
}

async function report(error: unknown, args: readonly string[], { stderr }: Io): Promise<number> {
  if (error instanceof CommanderError) {
    const isOf = ([command]: readonly [string, string]) => `${args.join(' ')} `.startsWith(`${command} `)
    const replacement = Object.entries(replacements).find(isOf)
    if (replacement && error.code === 'commander.unknownCommand') stderr.write(`${replacement[1]}\n`)
    return error.exitCode === 0 ? 0 : 2
  }
  const message =
    error instanceof OperatorError
      ? error.message
      : isWithoutClient(error)
        ? 'The database client is not generated. Generate it: npm run postinstall'
        : (await import('./explain.ts')).explain(error)
  stderr.write(`${message}\n`)
  return 1
}

/** Whether modules are missing that the installation generates, as after `npm ci --ignore-scripts`. */
function isWithoutClient(error: unknown): boolean {
  const { code, url } = Object(error) as { readonly code?: unknown; readonly url?: unknown }
  return code === 'ERR_MODULE_NOT_FOUND' && String(url).includes('/database/src/generated/')
}
