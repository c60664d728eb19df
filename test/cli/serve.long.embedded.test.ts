import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { fusion, startGateway } from '../support/cli.ts'
import { createDataDir, createEmptyDir } from '../support/data-dir.ts'

/** A gateway that does not stop by itself takes longer. */
const { shutdownMilliseconds } = readConfig({})

/** Whether this machine lets the tests create namespaces of processes, as containers have. */
const canUnshare = spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0

/** Whether this process may mount a disk of a few MiB. */
const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0

/** Writes a file of trusted issuers for the demo tenant. Returns it, and what signs tokens for a user. */
async function writeTrustedIssuers(folder: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const [issuer, audience] = ['https://id.example', 'https://api.example']
  const scopes = ['users:read', 'contacts:read']
  writeFileSync(path.join(folder, 'keys.json'), JSON.stringify({ keys: [await exportJWK(publicKey)] }))
  const file = path.join(folder, 'issuers.json')
  const settings = { issuer, audience, jwksFile: 'keys.json', tenant: 'Demo', userIdClaim: 'sub', scopes }
  writeFileSync(file, JSON.stringify([settings]))
  const sign = (sub: string) =>
    new SignJWT({ iss: issuer, aud: audience, sub, scope: scopes.join(' ') })
      .setProtectedHeader({ alg: 'ES256' })
      .setExpirationTime('1m')
      .sign(privateKey)
  return { file, sign }
}

describe('serve on the embedded database', () => {
  const dataDir = createEmptyDir()
  afterAll(() => rmSync(dataDir, { recursive: true }))

  it('creates a demo tenant, accepts the printed key, keeps every row over a restart, and stops before requests would be ended', async () => {
    const first = await startGateway({ DATA_DIR: dataDir })
    const key = /x-api-key: (\S+)/.exec(first.output())?.[1] ?? ''
    const send = (address: string, init: RequestInit = {}) =>
      fetch(`${address}/users`, { ...init, headers: { 'x-api-key': key, 'content-type': 'application/json' } })
    const before = (await (await send(first.address)).json()) as { users: unknown[] }
    expect(before.users).toHaveLength(25)
    const body = JSON.stringify({ name: 'New', email: 'new@example.com', phone: '1' })
    expect((await send(first.address, { method: 'POST', body })).status).toBe(201)
    const curl = /curl .*/.exec(first.output())?.[0] ?? ''
    const shell = spawn('bash', ['-c', `${curl} -fsS`])
    expect(JSON.parse(await text(shell.stdout))).toMatchObject({ users: [{}, {}] })

    const page = async ({ address }: typeof first) =>
      (await fetch(address, { headers: { accept: 'text/html' } })).text()
    expect(await page(first)).toContain(key)

    const second = fusion(['serve'], { DATA_DIR: dataDir })
    expect(await second).toMatchObject({ code: 1, stderr: expect.stringContaining(`process ${first.child.pid}`) })

    const stopped = await first.stop('SIGINT')
    expect(stopped.code).toBe(0)
    expect(stopped.milliseconds).toBeLessThan(shutdownMilliseconds)

    const issuers = await writeTrustedIssuers(dataDir)
    const env = { TOKEN_ISSUER: 'https://gateway.example', TRUSTED_ISSUERS: issuers.file, DEMO_KEY: 'hide' }
    const restarted = await startGateway({ DATA_DIR: dataDir, ...env })
    expect(restarted.output()).toContain(`x-api-key: ${key}`)
    expect(await page(restarted)).not.toContain(key)
    const authorization = `Bearer ${await issuers.sign('usr_demo_2')}`
    const own = await fetch(`${restarted.address}/users`, { headers: { authorization } })
    expect(await own.json()).toMatchObject({ users: [{ id: 'usr_demo_2' }] })
    const created = await fetch(`${restarted.address}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ query: 'mutation { createAccessToken(input: {}) { accessToken } }' }),
    })
    const { data } = (await created.json()) as { data: { createAccessToken: { accessToken: string } } }
    expect(decodeJwt(data.createAccessToken.accessToken)).toMatchObject({
      iss: env.TOKEN_ISSUER,
      aud: env.TOKEN_ISSUER,
    })
    const after = (await (await send(restarted.address)).json()) as { users: unknown[] }
    expect(after.users).toHaveLength(26)
    expect(after.users.slice(0, 25)).toEqual(before.users)
    expect((await restarted.stop('SIGHUP')).code).toBe(0)
  })

  it.each(['pgdata', 'demo-key'])('completes a first start that was killed after it created %s', async (file) => {
    const folder = createEmptyDir()
    chmodSync(folder, 0o755)
    const starting = startGateway({ DATA_DIR: folder }).catch(() => undefined)
    await expect.poll(() => existsSync(path.join(folder, file)), { timeout: 120_000, interval: 2 }).toBe(true)
    const holder = await text(connect(path.join(folder, 'gateway.lock')))
    process.kill(Number(/process (\d+) on /.exec(holder)?.[1]), 'SIGKILL')
    await starting
    const gateway = await startGateway({ DATA_DIR: folder })
    // Rows and the demo key are for the owner alone.
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    const key = /x-api-key: (\S+)/.exec(gateway.output())?.[1] ?? ''
    const response = await fetch(`${gateway.address}/users`, { headers: { 'x-api-key': key } })
    expect(((await response.json()) as { users: unknown[] }).users).toHaveLength(25)
    await gateway.stop()
    rmSync(folder, { recursive: true })
  })

  it.skipIf(!canUnshare)('is not opened by a process of another container that has the same number', async () => {
    const folder = createDataDir()
    // Each is process 1 of a namespace of its own.
    const start = (...command: string[]) =>
      spawn(
        'unshare',
        [...'--pid --fork --kill-child --mount-proc'.split(' '), process.execPath, 'src/cli.ts', ...command],
        {
          env: { ...process.env, DATA_DIR: folder, PORT: '0' },
        },
      )
    const first = start('serve')
    for await (const chunk of first.stdout) if (String(chunk).includes('OpenAPI')) break
    const second = start('tenants', 'list')
    const [error, [code]] = await Promise.all([text(second.stderr), once(second, 'close')])
    expect({ code, error }).toEqual({
      code: 1,
      error: expect.stringMatching(/^The data folder .* is open in process 1 on \S+\. Stop it first/),
    })
    first.kill('SIGKILL')
    await once(first, 'close')
    rmSync(folder, { recursive: true })
  })

  it.skipIf(!canMount)('serves and locks its folder on a system without /proc', async () => {
    const folder = createDataDir()
    const start = (...command: string[]) => {
      const script = 'umount --recursive --lazy /proc && test ! -e /proc/self && exec "$0" src/cli.ts "$@"'
      return spawn('unshare', ['--mount', 'sh', '-c', script, process.execPath, ...command], {
        env: { ...process.env, DATA_DIR: folder, PORT: '0' },
      })
    }
    const gateway = start('serve')
    let output = ''
    for await (const chunk of gateway.stdout) {
      output += chunk
      if (output.includes('OpenAPI')) break
    }
    const [, key = ''] = /x-api-key: (\S+)/.exec(output) ?? []
    const [, address] = /(http:\S+)\/openapi\.json/.exec(output) ?? []
    const response = await fetch(`${address}/users`, { headers: { 'x-api-key': key } })
    expect(((await response.json()) as { users: unknown[] }).users).toHaveLength(25)
    const second = start('tenants', 'list')
    const [error, [code]] = await Promise.all([text(second.stderr), once(second, 'close')])
    expect([code, error]).toEqual([1, expect.stringContaining('is open in process')])
    gateway.kill('SIGTERM')
    expect(await once(gateway, 'close')).toEqual([0, null])
    rmSync(folder, { recursive: true })
  })

  it.skipIf(!canMount)('refuses a disk that cannot be written, and is not ready while its disk is full', async () => {
    const disk = createEmptyDir()
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', disk])
    onTestFinished(() => {
      execFileSync('umount', ['--lazy', disk])
      rmSync(disk, { recursive: true })
    })
    const DATA_DIR = createDataDir(path.join(disk, 'data'))
    const gateway = await startGateway({ DATA_DIR })
    const isReady = async () => (await fetch(`${gateway.address}/ready`)).status
    expect(await isReady()).toBe(200)
    expect(() => writeFileSync(path.join(disk, 'full'), Buffer.alloc(96 * 2 ** 20))).toThrow('ENOSPC')
    // A result is kept for a second.
    await expect.poll(isReady).toBe(503)
    await expect.poll(gateway.output).toMatch(/The disk of \S+ has 0 MiB left, less than 16/)
    rmSync(path.join(disk, 'full'))
    await expect.poll(isReady).toBe(200)
    await gateway.stop()

    execFileSync('mount', ['-o', 'remount,ro', disk])
    expect(await fusion(['serve'], { DATA_DIR })).toEqual({
      code: 1,
      stdout: '',
      stderr: `The data folder ${DATA_DIR} cannot be used: read-only file system (EROFS). Choose another DATA_DIR.\n`,
    })
  })

  it('reports in one line that the port is in use', async () => {
    const gateway = await startGateway({ DATA_DIR: dataDir })
    const port = new URL(gateway.address).port
    const other = createDataDir()
    const { code, stderr } = await fusion(['serve'], { DATA_DIR: other, PORT: port })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `Another program uses the port ${port} of 127.0.0.1. Stop it, or set PORT to another port: PORT=${Number(port) + 1} npm start\n`,
    })
    const metrics = await fusion(['serve'], { DATA_DIR: other, METRICS_PORT: port })
    rmSync(other, { recursive: true })
    expect([metrics.code, metrics.stderr]).toEqual([1, expect.stringContaining('set METRICS_PORT to another port')])
    await gateway.stop()
  })

  it('keeps every row when it is killed', async () => {
    const gateway = await startGateway({ DATA_DIR: dataDir })
    const key = /x-api-key: (\S+)/.exec(gateway.output())?.[1] ?? ''
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'Last words', email: 'last@example.com', phone: '1' })
    expect((await fetch(`${gateway.address}/users`, { method: 'POST', body, headers })).status).toBe(201)
    await gateway.stop('SIGKILL')
    const restarted = await startGateway({ DATA_DIR: dataDir })
    const { users } = (await (await fetch(`${restarted.address}/users`, { headers })).json()) as {
      users: { name: string }[]
    }
    expect(users.at(-1)?.name).toBe('Last words')
    await restarted.stop()
  })
})
