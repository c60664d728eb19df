import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { OperatorError } from '../../errors.ts'
import { userScopes } from '../scopes.ts'

/** The configuration of an issuer, as the file of TRUSTED_ISSUERS has it. */
export type IssuerSettings = z.output<typeof issuerSettings>

const word = z.string().min(1)

const issuerSettings = z
  .strictObject({
    issuer: word,
    audience: word,
    jwksUri: z.url({ protocol: /^https?$/ }).optional(),
    jwksFile: word.optional(),
    /** The name or the id of a tenant. */
    tenant: word,
    userIdClaim: word,
    scopes: z.array(z.enum(userScopes, `must be one of ${userScopes.join(', ')}`)).min(1),
  })
  .refine(
    ({ jwksUri, jwksFile }) => (jwksUri === undefined) !== (jwksFile === undefined),
    'needs jwksUri or jwksFile, not both',
  )

/**
 * Reads the file of TRUSTED_ISSUERS.
 *
 * @returns the settings; paths of files are absolute
 * @throws OperatorError naming what is wrong
 */
export function readIssuerSettings(file: string): IssuerSettings[] {
  const { data, error } = z.array(issuerSettings).safeParse(readJson(file))
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

/** @throws OperatorError if the file cannot be read */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new OperatorError(`TRUSTED_ISSUERS: the file ${file} cannot be read: ${reason}`, { cause: error })
  }
}
