import type { TypedDocumentNode } from '@graphql-typed-document-node/core'
import {
  DemoUsersDocument,
  type DemoUsersQuery,
  MintTokenDocument,
  SyncProfilesDocument,
  type SyncProfilesMutation,
  type SyncProfilesMutationVariables,
} from '../src/__generated__/graphql.ts'
import { idOf } from '../src/client/document-id.ts'
import type { Settings } from './settings.ts'
import type { ProfileInput } from './sync.ts'

/** A person who has signed in. */
export interface Grant {
  /** The user. Null for staff, who see the tenant. */
  readonly userId: string | null
  /** Whether the user lets the page read contact data. */
  readonly contacts: boolean
}

/** A token for the browser. */
export interface Token {
  readonly accessToken: string
  /** RFC 3339. */
  readonly expiresAt: string
  /** The clocks of devices can be wrong. */
  readonly expiresInSeconds: number
}

type Users = NonNullable<DemoUsersQuery['users']>['nodes']

/** The gateway, as the backend uses it: with the API key. */
export interface Gateway {
  /** @throws GatewayProblem */
  listUsers(): Promise<Users>
  /** @throws GatewayProblem with the status 400 if there is no such user */
  mintToken(grant: Grant): Promise<Token>
  /** Synchronizes at most 100 profiles. @throws GatewayProblem with the status 503 if it may succeed later */
  syncProfiles(profiles: readonly ProfileInput[]): Promise<SyncProfilesMutation['syncProfiles']['results']>
}

/** A request that the gateway did not serve. Its message is for the operator, unless its status is 400. 503: it may be served later. */
export class GatewayProblem extends Error {
  readonly statusCode: number
  constructor(message: string, statusCode = 502) {
    super(message)
    this.statusCode = statusCode
  }
}

const expiresInSeconds = 900
const staffScopes = ['users:read', 'profiles:read', 'contacts:read', 'jobs:read', 'jobs:write', 'events:read']
const userScopes = ['users:read', 'profiles:read']

export function createGateway({ gatewayUrl, apiKey }: Settings): Gateway {
  async function send<Data, Variables>(document: TypedDocumentNode<Data, Variables>, variables: Variables) {
    const response = await fetch(new URL('/graphql', gatewayUrl), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
      body: JSON.stringify({ documentId: idOf(document), variables }),
    }).catch(() => {
      throw new GatewayProblem(`The gateway does not answer at ${gatewayUrl}.`, 503)
    })
    const { data, errors } = await response.json().then(
      (body: GraphQLResponse<Data>) => body,
      () => {
        // A proxy in front of the gateway has answered.
        throw new GatewayProblem(`${gatewayUrl} answered ${response.status} without JSON.`)
      },
    )
    if (errors?.[0] || !data) throw problemOf(errors?.[0])
    return data
  }

  return {
    async listUsers() {
      return (await send(DemoUsersDocument, {})).users?.nodes ?? []
    },
    async mintToken({ userId, contacts }) {
      const scopes = userId === null ? staffScopes : [...userScopes, ...(contacts ? ['contacts:read'] : [])]
      const { createAccessToken } = await send(MintTokenDocument, { input: { userId, scopes, expiresInSeconds } })
      const { accessToken, expiresAt, userErrors } = createAccessToken
      if (!accessToken || !expiresAt) throw new GatewayProblem(userErrors[0]?.message ?? 'There is no token.', 400)
      return { accessToken, expiresAt, expiresInSeconds }
    },
    async syncProfiles(profiles) {
      const { syncProfiles } = await send(SyncProfilesDocument, { inputs: profiles } as SyncProfilesMutationVariables)
      return syncProfiles.results
    },
  }
}

interface GraphQLResponse<Data> {
  readonly data?: Data | null
  readonly errors?: readonly Problem[]
}

interface Problem {
  readonly message: string
  readonly extensions?: { readonly code?: string }
}

function problemOf(problem: Problem | undefined): GatewayProblem {
  const code = problem?.extensions?.code ?? ''
  const isTemporary = ['RATE_LIMITED', 'SERVICE_UNAVAILABLE'].includes(code)
  const isUnknownDocument = ['DOCUMENT_NOT_TRUSTED', 'PERSISTED_QUERY_NOT_FOUND'].includes(code)
  return new GatewayProblem(
    isUnknownDocument
      ? 'The gateway does not know the operations of this build. Name persisted-documents.json in its TRUSTED_DOCUMENTS, and restart it.'
      : `The gateway answered: ${problem?.message ?? 'nothing'}`,
    isTemporary ? 503 : 502,
  )
}
