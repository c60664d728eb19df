import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { fusion } from '../support/cli.ts'

/** An unreachable database. Help and wrong usage need no database. */
const env = { DATABASE_URL: 'postgresql://me@127.0.0.1:1/none' }

describe('fusion', () => {
  it.each([
    [['--help'], 'serve'],
    [['migrate', '--help'], 'deploy'],
    [['migrate', 'new', '--help'], 'schema.prisma'],
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

  it('names every invalid variable, but not its value', async () => {
    const wrong = {
      DATABASE_URL: 'mysql://secret@host/db',
      PORT: '99999',
      LOG_LEVEL: 'loud',
      GRAPHIQL: 'maybe',
      CORS_ORIGINS: 'nope',
    }
    const { code, stdout, stderr } = await fusion(['serve'], wrong)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(
      stderr
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(['DATABASE_URL', 'PORT', 'LOG_LEVEL', 'GRAPHIQL', 'CORS_ORIGINS'])
    expect(stderr).not.toContain('secret')
  })

  it('rejects the parts of a database URL that would have no effect', async () => {
    const urls = {
      DATABASE_URL: 'postgresql://user:secret@one,two/db?schema=other&sslmode=disable',
      DATABASE_REPLICA_URLS: 'postgresql://host/db?target_session_attrs=read-write&query_timeout=1',
    }
    const { code, stderr } = await fusion(['serve'], urls)
    expect({ code, lines: stderr.trim().split('\n') }).toEqual({
      code: 1,
      lines: [
        'DATABASE_URL must name one host. Put a load balancer or a proxy in front of several',
        'DATABASE_URL has the parameter schema, which would have no effect',
        'DATABASE_REPLICA_URLS has the parameter target_session_attrs, which would have no effect',
        'DATABASE_REPLICA_URLS has the parameter query_timeout, which would have no effect',
      ],
    })
  })

  it('reports in one line that the database is unreachable', async () => {
    const { code, stderr } = await fusion(['tenants', 'list'], env)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The database cannot be reached: .*\n$/)
  })

  it('exits with 0 if the reader of its output stops reading', async () => {
    const entry = path.resolve(import.meta.dirname, '../../src/cli.ts')
    const shell = spawn('bash', ['-c', `set -o pipefail; "${process.execPath}" "${entry}" schema | head -1`], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [stdout, stderr, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')])
    expect({ lines: stdout.split('\n').length, stderr, code }).toEqual({ lines: 2, stderr: '', code: 0 })
  })

  it('exits with 1 if the file of trusted documents is missing, and leaves no connection open', async () => {
    // Redis is not reachable: the gateway would connect again and again.
    const missing = { ...env, REDIS_URL: 'redis://127.0.0.1:1', TRUSTED_DOCUMENTS: '/nowhere/documents.json' }
    const { code, stderr } = await fusion(['serve'], missing)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^TRUSTED_DOCUMENTS cannot be read: /m)
  })
})
