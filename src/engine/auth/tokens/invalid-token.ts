import { GatewayError } from '../../errors.ts'

/** The rejection of a token. It does not say why, because only its issuer should know. @see https://www.rfc-editor.org/rfc/rfc6750#section-3 */
export function invalidToken(): GatewayError {
  return new GatewayError('UNAUTHENTICATED', 'The access token is not valid, or has expired.', {
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  })
}
