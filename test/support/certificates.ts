import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'

/** Whether this machine can create certificates. */
export const canCreateCertificates = spawnSync('openssl', ['version']).status === 0

const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'

/** Creates an authority in a folder: `<name>.crt` and `<name>.key`. */
export function createAuthority(folder: string, name: string): void {
  openssl(folder, `req -x509 ${newKey} -days 2 -subj /CN=${name} -keyout ${name}.key -out ${name}.crt`)
}

/**
 * Creates the certificate of a server of this machine, signed by the authority in the same folder: `server.crt` and
 * `server.key`.
 */
export function createServerCertificate(folder: string, authority: string): void {
  openssl(folder, `req ${newKey} -subj /CN=localhost -keyout server.key -out server.csr`)
  writeFileSync(path.join(folder, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1')
  const issuer = `-CA ${authority}.crt -CAkey ${authority}.key -CAcreateserial`
  openssl(folder, `x509 -req -days 2 -in server.csr ${issuer} -extfile names -out server.crt`)
}

function openssl(folder: string, command: string): void {
  execFileSync('openssl', command.split(' '), { cwd: folder, stdio: 'ignore' })
}
