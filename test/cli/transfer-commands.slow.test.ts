import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fusion } from '../support/cli.ts'
import { type CommandDatabase, createCommandDatabase } from '../support/command-database.ts'
import { lastLine, recordsOf } from '../support/transfer.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'fusion-transfer-'))
const file = path.join(folder, 'records.ndjson')

let database: CommandDatabase
let env: CommandDatabase['env']
beforeAll(async () => {
  database = await createCommandDatabase()
  env = database.env
})
afterAll(async () => {
  await database.remove()
  rmSync(folder, { recursive: true })
})

describe('export and import on the command line', () => {
  it('copy a tenant, write rejects to a file, and exit with 1 if there are rejects', async () => {
    await fusion(['tenants', 'create', 'From'], env)
    await fusion(['tenants', 'create', 'To'], env)
    await fusion(['seed', '--tenant', 'From', '--users', '20'], env)
    const source = await fusion(['export', '--tenant', 'From'], env)
    expect(source.code).toBe(0)
    writeFileSync(file, `${source.stdout}nonsense\n`)
    // The last line is the position.
    const records = source.stdout.trimEnd().split('\n').length - 1
    const rejects = path.join(folder, 'rejects.ndjson')
    const run = await fusion(['import', '--tenant', 'To', '--rejects', rejects, file], env)
    expect(run).toMatchObject({ code: 1, stderr: `${file}:${records + 2}: is not JSON\n` })
    // 20 users, 60 profiles, and 14 days of each.
    expect(records).toBe(80 + 60 * 14)
    expect(run.stdout).toMatch(/^Imported 920 records in [\d.]+ s \(\d+ records\/s\), rejected 1\.\n$/)
    expect(JSON.parse(readFileSync(rejects, 'utf8'))).toEqual({
      file,
      line: records + 2,
      reason: 'is not JSON',
      text: 'nonsense',
    })
    const copy = path.join(folder, 'copy.ndjson')
    expect((await fusion(['export', '--tenant', 'To', '--out', copy], env)).code).toBe(0)
    expect(recordsOf(readFileSync(copy, 'utf8'))).toBe(recordsOf(source.stdout))
    // Records are for the owner of the files alone.
    for (const written of [copy, rejects]) expect(statSync(written).mode & 0o777).toBe(0o600)
    const none = path.join(folder, 'none')
    for (const [args, stderr] of [
      [[none], `The file ${none} does not exist.\n`],
      [[folder], `${folder} is a folder.\n`],
      [['--rejects', `${none}/rejects`, file], expect.stringMatching(/^The file .* cannot be written: ENOENT.*\n$/)],
    ] as const) {
      expect(await fusion(['import', '--tenant', 'To', ...args], env)).toEqual({ code: 1, stdout: '', stderr })
    }
  })

  it('name each rejected record of a list on stderr, and write it alone to the file of rejects', async () => {
    await fusion(['tenants', 'create', 'List'], env)
    const user = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z', name: 'n', email: 'e@x' }
    const users = Array.from({ length: 3_000 }, (_, index) => ({ id: `u${index}`, ...user, accounts: [] }))
    const bad = users.map((one, index) => (index % 10 === 3 ? { ...one, id: `u\u001b${index}`, name: ' ' } : one))
    writeFileSync(file, JSON.stringify({ users: bad }))
    const rejects = path.join(folder, 'list.ndjson')
    const { stdout, stderr, code } = await fusion(['import', '--tenant', 'List', '--rejects', rejects, file], env)
    expect([code, stdout]).toEqual([1, expect.stringContaining('Imported 2700 records')])
    const lines = stderr.trimEnd().split('\n')
    expect([lines.length, lines[1]]).toEqual([300, `${file}:1: users[13] "u\\u001b13": name: must not be blank`])
    const written = readFileSync(rejects, 'utf8').trimEnd().split('\n')
    expect(written.map((line) => JSON.parse(JSON.parse(line).text))).toEqual(bad.filter(({ name }) => name === ' '))
    expect(JSON.parse(written[1] ?? '')).toMatchObject({ line: 1, list: 'users', index: 13, id: 'u\u001b13' })
  })

  it('do not replace a file that is read by the rejected records of it', async () => {
    await fusion(['tenants', 'create', 'Same'], env)
    writeFileSync(file, 'nonsense\n')
    const link = path.join(folder, 'link.ndjson')
    symlinkSync(file, link)
    const command = [
      path.resolve(import.meta.dirname, '../../bin/fusion.js'),
      'import',
      '--tenant',
      'Same',
      '--rejects',
    ]
    const stdin = openSync(file, 'r')
    for (const [rejects, read] of [
      [file, file],
      [link, file],
      [file, '-'],
    ] as const) {
      const { status, stderr } = spawnSync(process.execPath, [...command, rejects, read], {
        env: { ...process.env, DATABASE_URL: '', ...env },
        stdio: [stdin, 'ignore', 'pipe'],
        encoding: 'utf8',
      })
      const refusal = `The rejected records would replace the file that is read: ${rejects}. Name another file.\n`
      expect([status, stderr]).toEqual([1, refusal])
      expect(readFileSync(file, 'utf8')).toBe('nonsense\n')
    }
    closeSync(stdin)
    // Neither is a file emptied for a tenant that does not exist.
    expect((await fusion(['import', '--tenant', 'Nobody', '--rejects', file, link], env)).code).toBe(1)
    expect(readFileSync(file, 'utf8')).toBe('nonsense\n')
  })

  it('end quietly when the reader of an export leaves', async () => {
    await fusion(['tenants', 'create', 'Read'], env)
    await fusion(['seed', '--tenant', 'Read', '--users', '1000'], env)
    const { stdout: whole } = await fusion(['export', '--tenant', 'Read'], env)
    const entry = path.resolve(import.meta.dirname, '../../bin/fusion.js')
    // The shell's own pipe: that of a child process is a socket.
    const command = `"${process.execPath}" "${entry}" export --tenant Read | head -n 700; echo "$(printf '%s ' "\${PIPESTATUS[@]}")" >&2`
    const { stdout, stderr } = spawnSync('bash', ['-c', command], {
      env: { ...process.env, DATABASE_URL: '', ...env },
      encoding: 'utf8',
      maxBuffer: whole.length + 1,
    })
    expect(stdout).toBe(
      whole
        .split('\n', 700)
        .map((line) => `${line}\n`)
        .join(''),
    )
    expect(stderr).toBe('0 0 \n')
  })

  it('have timeouts of their own, as seeding and migrations do', async () => {
    const hasty = { ...env, DATABASE_STATEMENT_TIMEOUT: '0.001', DATABASE_POOL_SIZE: '1' }
    await fusion(['tenants', 'create', 'Patient'], env)
    const deployed = await fusion(['migrate', 'deploy'], { ...hasty, ...database.ownerEnv })
    expect(deployed).toMatchObject({ code: 0, stderr: '' })
    const commands = [
      ['migrate', 'status'],
      ['seed', '--tenant', 'Patient', '--users', '2500'],
      ['export', '--tenant', 'Patient', '--out', file],
      ['import', '--tenant', 'Patient', file],
    ]
    for (const command of commands) expect(await fusion(command, hasty)).toMatchObject({ code: 0, stderr: '' })
  })

  it('keep a copy by deltas', async () => {
    for (const name of ['Source', 'Copy']) await fusion(['tenants', 'create', name], env)
    await fusion(['seed', '--tenant', 'Source', '--users', '3'], env)
    const change = async (tenant: string, text: string) => {
      writeFileSync(file, text)
      expect(await fusion(['import', '--tenant', tenant, file], env)).toMatchObject({ code: 0, stderr: '' })
    }
    const full = await fusion(['export', '--tenant', 'Source'], env)
    await change('Copy', full.stdout)
    const [, event = ''] = lastLine.exec(full.stdout) ?? []
    const [first = '', second = ''] = full.stdout.split('\n')
    const { id } = JSON.parse(second)
    await change('Source', `${first.replace(/"name":"[^"]*"/, '"name":"Changed"')}\n{"deleted":"user","id":"${id}"}\n`)
    const out = path.join(folder, 'delta.ndjson')
    const since = (given: string) => fusion(['export', '--tenant', 'Source', '--since', given, '--out', out], env)
    expect(await since(event)).toEqual({ code: 0, stdout: '', stderr: '' })
    const delta = readFileSync(out, 'utf8')
    expect(delta).toMatch(new RegExp(`^\\{"deleted":"user","id":"${id}"\\}\n`))
    expect(delta).toContain('"name":"Changed"')
    expect(delta).toMatch(lastLine)
    await change('Copy', delta)
    expect(await since('evt_1')).toMatchObject({ code: 2, stderr: expect.stringContaining('24 hexadecimal digits') })
    const future = `evt_${'f'.repeat(24)}`
    const stderr = `The log of this database has not reached ${future}. Is it of another database?\n`
    expect(await since(future)).toEqual({ code: 1, stdout: '', stderr })
    expect(readFileSync(out, 'utf8')).toBe(delta)
  })

  it('complete a killed import when it runs again', async () => {
    await fusion(['tenants', 'create', 'Killed'], env)
    const users = Array.from({ length: 6_000 }, (_, index) => ({
      id: `u${index}`,
      created_at: new Date(index).toISOString(),
      updated_at: new Date(index).toISOString(),
      name: 'n',
      email: 'e@x',
      phone: null,
      accounts: [],
      external_id: null,
      metadata: null,
    }))
    const text = users.map((user) => `${JSON.stringify(user)}\n`).join('')
    const entry = path.resolve(import.meta.dirname, '../../src/cli.ts')
    const child = spawn(process.execPath, [entry, 'import', '--tenant', 'Killed', '-'], {
      env: { ...process.env, DATABASE_URL: '', ...env },
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    // Only half of the text is sent, so the import waits for more when it is killed.
    await new Promise((resolve) => child.stdin.write(text.slice(0, text.length / 2), resolve))
    child.kill('SIGKILL')
    await once(child, 'exit')
    writeFileSync(file, text)
    expect((await fusion(['import', '--tenant', 'Killed', file], env)).code).toBe(0)
    expect(recordsOf((await fusion(['export', '--tenant', 'Killed'], env)).stdout)).toBe(text)
  })
})
