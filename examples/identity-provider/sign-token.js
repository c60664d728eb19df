import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose'

// What an identity provider does after a user has signed in. The private key stays with it; the gateway reads the public one.
const alg = 'ES256'
const publicFile = new URL('jwks.json', import.meta.url)
const privateFile = new URL('private-key.json', import.meta.url)

if (!existsSync(privateFile)) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(jwk)
  writeFileSync(publicFile, JSON.stringify({ keys: [{ ...jwk, kid, alg, use: 'sig' }] }))
  writeFileSync(privateFile, JSON.stringify({ ...(await exportJWK(privateKey)), kid }), { mode: 0o600 })
}

const [userId = 'usr_demo_1'] = process.argv.slice(2)
const { kid, ...privateKey } = JSON.parse(readFileSync(privateFile, 'utf8'))
const token = await new SignJWT({ user_id: userId, scope: 'openid users:read profiles:read' })
  .setProtectedHeader({ alg, kid, typ: 'at+jwt' })
  .setIssuer('https://id.example.com/')
  .setAudience('https://api.example.com')
  .setSubject('248289761001')
  .setIssuedAt()
  .setExpirationTime('15m')
  .sign(await importJWK(privateKey, alg))
process.stdout.write(`${token}\n`)
