import { defineMutation } from '../../engine/graphql/schema/mutation.ts'
import { createAccessToken } from './access-token.service.ts'

defineMutation('createAccessToken', {
  scope: 'tokens:create',
  description:
    'Creates an access token, which a browser or an app sends as `Authorization: Bearer …`. Revoking the key ends it within five seconds.',
  inputDescription: 'The token to create.',
  input: (t) => ({
    userId: t.id({
      description:
        'The user to whom the token is bound: it sees this user, and what belongs to the user. Without it, the token sees the tenant.',
    }),
    scopes: t.stringList({
      description:
        'The scopes of the token: some of those of the key. By default those that read. A token for a user can have `users:read`, ' +
        '`users:write`, `profiles:read` and `contacts:read`.',
    }),
    expiresInSeconds: t.int({
      description: 'How long the token is valid, in seconds: 60–86,400. 3,600 by default. It ends with its key.',
    }),
  }),
  isSecret: true,
  results: [
    {
      field: 'accessToken',
      type: 'String',
      description: 'The token. It is shown only now.',
      value: ({ accessToken }) => accessToken,
    },
    {
      field: 'expiresAt',
      type: 'DateTime',
      description: 'The time when the token expires.',
      value: ({ expiresAt }) => expiresAt,
    },
  ],
  hasOneWrite: true,
  run: createAccessToken,
})
