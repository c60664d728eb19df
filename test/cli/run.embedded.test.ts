import { PassThrough, Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { run } from '../../src/cli/run.ts'

/** Runs a command within this process. */
async function call(args: readonly string[], env: Record<string, string> = {}) {
  const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough({ encoding: 'utf8' })]
  const code = await run(args, { stdin: Readable.from([]), stdout, stderr, env })
  return { code, stdout: stdout.read() ?? '', stderr: stderr.read() ?? '' }
}

it('a command writes to what it is given, and returns its exit code', async () => {
  expect(await call(['--version'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+(-dev\S*)? \(commit /),
  })
  expect(await call(['keys', '--help'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Usage: fusion keys'),
  })
  expect(await call(['keys', 'create'])).toEqual({
    code: 2,
    stdout: '',
    stderr: "error: required option '--tenant <name>' not specified\n",
  })
  const { code, stderr } = await call(['usage', '--field', 'User.nothing'])
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^error: option '--field <Type.field>' argument 'User.nothing' is invalid\./),
  ])
  expect(await call(['keys', 'list'], { PORT: 'x' })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'PORT must be a number from 0 to 65535\n',
  })
})

it('a command says which variables end with a new line, unless that makes no difference', async () => {
  const { code, stderr } = await call(['keys', 'list'], {
    DATABASE_URL: 'postgresql://127.0.0.1:1/none\n',
    CORS_ORIGINS: 'https://app.example.com\n',
    SHUTDOWN_TIMEOUT: '1\n',
    TOKEN_ISSUER: 'urn:acme\r\n',
    LOG_LEVEL: 'loud',
  })
  expect([code, stderr.split('\n')]).toEqual([
    1,
    [
      expect.stringMatching(/^LOG_LEVEL must be one of /),
      'SHUTDOWN_TIMEOUT ends with a new line, as a value from a file does. Remove it',
      'TOKEN_ISSUER ends with a new line, as a value from a file does. Remove it',
      '',
    ],
  ])
})
