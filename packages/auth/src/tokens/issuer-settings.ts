import { closeSync, openSync, readSync } from 'node:fs'
import path from 'node:path'
import { OperatorError, type Scope } from '@fusion-gateway/base'
import { z } from 'zod'
import { maxLifetimeSeconds } from './access-tokens.ts'

/** The configuration of an issuer, as the file of TRUSTED_ISSUERS has it. */
export type IssuerSettings = z.output<ReturnType<typeof settingsWith>>

const word = z.string().min(1)
/** @param grantable the scopes that tokens can have */
function settingsWith(grantable: readonly Scope[]) {
  const scopes = z.array(z.enum(grantable, `must be one of ${grantable.join(', ')}`)).min(1)
  return z
    .strictObject({
      issuer: word,
      audience: word,
      jwksUri: z.url({ protocol: /^https?$/ }).optional(),
      jwksFile: word.optional(),
      /** The name or the id of a tenant. */
      tenant: word,
      userIdClaim: word,
      /** The scopes that a token can name. */
      scopes,
      /** The scopes of a token without a claim of scopes. */
      defaultScopes: scopes.default([]),
      maxLifetimeSeconds: z.int().min(60).max(31_536_000).default(maxLifetimeSeconds),
    })
    .refine(
      ({ jwksUri, jwksFile }) => (jwksUri === undefined) !== (jwksFile === undefined),
      'needs jwksUri or jwksFile, not both',
    )
    .refine(
      ({ scopes, defaultScopes }) => defaultScopes.every((scope) => scopes.includes(scope)),
      'has defaultScopes that are not among its scopes',
    )
}

/**
 * @param grantable the scopes that tokens can have
 * @returns the settings; paths of files are absolute
 * @throws OperatorError naming what is wrong
 */
export function readIssuerSettings(file: string, grantable: readonly Scope[]): IssuerSettings[] {
  const { data, error } = z.array(settingsWith(grantable)).safeParse(readJson(file))
  if (error) {
    const reasons = error.issues.map(
      ({ path: at, message }) => `TRUSTED_ISSUERS: ${at.join('.') || 'the file'} ${message}`,
    )
    throw new OperatorError(reasons.join('\n'))
  }
  return data.map((settings) =>
    settings.jwksFile === undefined
      ? settings
      : { ...settings, jwksFile: path.resolve(path.dirname(file), settings.jwksFile) },
  )
}

/** The most that is read of a file of the configuration, or of the keys at a URL. */
export const maxFileBytes = 1024 * 1024

/** @throws OperatorError if the file cannot be read, or is too long */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(readStart(file))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new OperatorError(`TRUSTED_ISSUERS: the file ${file} cannot be read: ${reason}`, { cause: error })
  }
}

/** @throws Error if the file is too long. Its size says nothing about a device or a pipe */
function readStart(file: string): string {
  const buffer = Buffer.alloc(maxFileBytes + 1)
  const descriptor = openSync(file, 'r')
  try {
    let length = 0
    for (let read = 1; read > 0; length += read) {
      read = readSync(descriptor, buffer, length, buffer.length - length, null)
    }
    if (length > maxFileBytes) throw new Error('it is longer than 1 MiB')
    return buffer.toString('utf8', 0, length)
  } finally {
    closeSync(descriptor)
  }
}
