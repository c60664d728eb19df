import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { readConfig, removedVariables } from '../../src/config.ts'
import { fusion, runHere } from '../support/cli.ts'
import { createDataDir } from '../support/data-dir.ts'

/** An unreachable database. Help and wrong usage need no database. */
const env = { DATABASE_URL: 'postgresql://me@127.0.0.1:1/none' }

describe('fusion', () => {
  it.each([
    [['--help'], 'serve'],
    [['migrate', '--help'], 'deploy'],
    [['migrate', 'deploy', '--help'], '--contract'],
    [['tenants', '--help'], 'create'],
    [['keys', 'create', '--help'], '--expires'],
    [['seed', '--help'], '--users'],
    [['schema', '--help'], '--out'],
    [['serve', '--help'], 'serve'],
  ])('prints help to stdout and exits with 0: %j', async (args, word) => {
    const { code, stdout, stderr } = await fusion(args, env)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(word)
  })

  it.each([
    [['nonsense'], 'unknown command'],
    [['keys', 'create'], '--tenant'],
    [['seed', '--tenant', 'a', '--users', 'many'], 'whole number'],
    [['keys', 'create', '--tenant', 'a', '--expires', 'soon'], '90d'],
    [['tenants', 'create'], 'missing required argument'],
  ])('prints the error to stderr and exits with 2 on wrong usage: %j', async (args, word) => {
    const { code, stdout, stderr } = await fusion(args, env)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(word)
  })

  it.each([
    [['events', '--tenant', 'Acme'], 'docs/events.md'],
    [['webhooks', 'list', '--tenant', 'Acme'], 'docs/webhooks.md'],
    [['webhooks', 'trigger', 'USER_CREATED'], 'webhooks listen --forward'],
    [['signing-keys', 'list'], '/.well-known/jwks.json'],
    [['migrate', 'resolve', 'NAME'], 'migrate deploy'],
    [['migrate', 'contract'], 'migrate deploy --contract'],
    [['migrate', 'new', 'NAME'], 'npm run migration'],
  ])('says what replaces a command that was removed, and exits with 2: %j', async (args, replacement) => {
    const { code, stdout, stderr } = await fusion(args, env)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^error: unknown command/)
    expect(stderr.trimEnd().split('\n').at(-1)).toContain(replacement)
  })

  it('names every invalid variable, but not its value', async () => {
    const wrong = {
      DATABASE_URL: 'mysql://secret@host/db',
      PORT: '99999',
      LOG_LEVEL: 'loud',
      GRAPHIQL: 'maybe',
      CORS_ORIGINS: 'nope',
    }
    const { code, stdout, stderr } = await runHere(['serve'], wrong)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(
      stderr
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(['DATABASE_URL', 'PORT', 'LOG_LEVEL', 'GRAPHIQL', 'CORS_ORIGINS'])
    expect(stderr).not.toContain('secret')
  })

  it.each(Object.entries(removedVariables))('ends if %s is set, which was removed: %s', async (name, instead) => {
    for (const args of [['serve'], ['work'], ['keys', 'list']]) {
      const stderr = `${name} was removed: ${instead}\n`
      expect(await runHere(args, { [name]: '1' })).toEqual({ code: 1, stdout: '', stderr })
    }
    expect(readConfig({ [name]: '' })).toEqual(readConfig({}))
  })

  it('rejects the parts of a database URL that would have no effect', async () => {
    const urls = {
      DATABASE_URL: 'postgresql://user:secret@one,two/db?schema=other&sslmode=disable',
      DATABASE_REPLICA_URLS: 'postgresql://host/db?sslcrl=file&query_timeout=1',
    }
    const { code, stderr } = await runHere(['serve'], urls)
    expect({ code, lines: stderr.trim().split('\n') }).toEqual({
      code: 1,
      lines: [
        'DATABASE_URL must name one host. For several servers, name a proxy such as PgBouncer or HAProxy, or a DNS name of the primary',
        'DATABASE_URL has the parameter schema. The tables are in the schema public',
        'DATABASE_REPLICA_URLS has the parameter sslcrl, which would have no effect',
        'DATABASE_REPLICA_URLS has the parameter query_timeout, which would have no effect',
      ],
    })
  })

  it('rejects a database URL that would be misread', async () => {
    const problems = {
      'postgresql://u:secret@one:1,two:2/db':
        'must name one host. For several servers, name a proxy such as PgBouncer or HAProxy, or a DNS name of the primary',
      'postgresql://u:s%ecret@host/db': 'has a % that encodes no character of UTF-8. Write the character % as %25',
      'postgresql://u:1#secret@host/db': 'has a #. Write it as %23',
      'postgresql://u:sec ret@host/db': 'has a space. Write it as %20',
      'postgresql://host/db?sslmode=allow':
        'has an sslmode that is not supported. Use one of disable, prefer, require, verify-ca, verify-full',
      'postgresql://host/db?channel_binding=always':
        'has the parameter channel_binding, which must be one of disable, prefer, require',
      'postgresql://host/db?sslnegotiation=direct': 'needs sslmode=require or more with sslnegotiation=direct',
      'postgresql://host/db?sslmode=require&sslrootcert=system': 'needs sslmode=verify-full with sslrootcert=system',
      'postgresql://host/db?ssl=true': 'has the parameter ssl. Use sslmode',
      'postgresql://host/db?sslmode=verify-ca': 'needs sslrootcert with sslmode=verify-ca',
      'postgresql://host/db?port=99999': 'has a port that is no number from 1 to 65535',
      'postgresql://u:12?secret@host/db': 'has a / or a ? before the host. Write them as %2F and %3F',
      'postgresql://u:12/secret@host/db': 'has a / or a ? before the host. Write them as %2F and %3F',
    }
    for (const [DATABASE_URL, problem] of Object.entries(problems)) {
      expect(await runHere(['serve'], { DATABASE_URL })).toEqual({
        code: 1,
        stdout: '',
        stderr: `DATABASE_URL ${problem}\n`,
      })
    }
  })

  it('rejects PGSSLMODE where it counts', async () => {
    const DATABASE_URL = 'postgresql://u@127.0.0.1:1/db'
    vi.stubEnv('PGSSLMODE', 'allow')
    onTestFinished(() => void vi.unstubAllEnvs())
    const rejected = await runHere(['tenants', 'list'], { DATABASE_URL })
    expect(rejected.stderr).toMatch(/^PGSSLMODE is not supported\. Use one of .*\n$/)
    // A file with a URL may end with a new line.
    const used = await runHere(['tenants', 'list'], { DATABASE_URL: `${DATABASE_URL}?sslmode=disable\n` })
    expect(used.stderr).toBe('The database cannot be reached: nothing answers at 127.0.0.1:1\n')
  })

  it('rejects numbers with anything but digits', async () => {
    for (const PORT of [' ', ' 1', '0x10', '1e3', '-1', '+1', '1.0']) {
      const stderr = 'PORT must be a number from 0 to 65535\n'
      expect(await runHere(['serve'], { PORT })).toEqual({ code: 1, stdout: '', stderr })
    }
    expect(await runHere(['serve'], { KEEP_ALIVE_TIMEOUT: ' ' })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^KEEP_ALIVE_TIMEOUT must be a number of seconds .*\n$/),
    })
  })

  it('reports in one line that the database is unreachable, with host and port', async () => {
    const reasons = {
      'nohost.invalid': 'the host of nohost.invalid:5432 is unknown',
      '127.0.0.1:1': 'nothing answers at 127.0.0.1:1',
    }
    for (const [host, reason] of Object.entries(reasons)) {
      const { code, stderr } = await fusion(['tenants', 'list'], { DATABASE_URL: `postgresql://u:secret@${host}/db` })
      expect({ code, stderr }).toEqual({ code: 1, stderr: `The database cannot be reached: ${reason}\n` })
    }
  })

  it('names HOST if it has no address, and DATA_DIR if nothing can be created there', async () => {
    const DATA_DIR = createDataDir()
    expect(await runHere(['serve'], { DATA_DIR, HOST: 'nohost.invalid', PORT: '0' })).toMatchObject({
      code: 1,
      stderr: 'HOST must be a name or an address of this machine. nohost.invalid has no address.\n',
    })
    rmSync(DATA_DIR, { recursive: true })
    for (const folder of ['/proc/x', '/proc/x/y', '/dev/null/x']) {
      const { code, stderr } = await runHere(['serve'], { DATA_DIR: folder })
      expect(code).toBe(1)
      expect(stderr).toMatch(/^The data folder \S+ cannot be used: [^\n]+ \(E\w+\)\. Choose another DATA_DIR\.\n$/)
      expect(stderr).toContain(folder)
    }
  })

  it('prints the schema', async () => {
    const schema = readFileSync(path.resolve(import.meta.dirname, '../../schema.graphql'), 'utf8')
    expect(await runHere(['schema'], env)).toEqual({ code: 0, stdout: schema, stderr: '' })
  })

  it('exits with 0 if the reader of its output stops reading', async () => {
    const entry = path.resolve(import.meta.dirname, '../../src/cli.ts')
    // The reader has ended before the command writes.
    const shell = spawn('bash', ['-c', `set -o pipefail; "${process.execPath}" "${entry}" --help | :`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const [stderr, [code]] = await Promise.all([text(shell.stderr), once(shell, 'close')])
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
  })

  it('exits with 1 if the file of trusted documents is missing, and leaves no connection open', async () => {
    // Redis is not reachable: the gateway would connect again and again.
    const missing = { ...env, REDIS_URL: 'redis://127.0.0.1:1', TRUSTED_DOCUMENTS: '/nowhere/documents.json' }
    const { code, stderr } = await runHere(['serve'], missing)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^TRUSTED_DOCUMENTS cannot be read: /m)
  })
})
