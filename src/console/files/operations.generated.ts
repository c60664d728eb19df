// Generated from schema.graphql and src/console/operations: npm run schema
import type { Document } from './document.ts'

export type Scope = 'users:read' | 'users:write' | 'profiles:read' | 'contacts:read' | 'jobs:read' | 'jobs:write' | 'jobs:work' | 'events:read' | 'webhooks:write' | 'usage:read' | 'tokens:create' | 'keys:write'

/** The scopes that a token for a user can have. */
export const userScopes: readonly Scope[] = ['users:read', 'users:write', 'profiles:read', 'contacts:read', 'events:read']

export const eventTypes: readonly EventType[] = ['ACCOUNT_LINKED', 'ACCOUNT_UNLINKED', 'ACCOUNT_UPDATED', 'JOB_CANCELLED', 'JOB_CREATED', 'JOB_FAILED', 'JOB_RETRIED', 'JOB_STARTED', 'JOB_SUCCEEDED', 'JOB_UPDATED', 'PROFILE_SYNCED', 'USER_CREATED', 'USER_DELETED', 'USER_UPDATED', 'WEBHOOK_DISABLED']

export const orderDirections: readonly OrderDirection[] = ['ASC', 'DESC']

export const userOrderFields: readonly UserOrderField[] = ['CREATED_AT', 'NAME', 'UPDATED_AT']

/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
export type AccountFilter = {
  readonly and?: ReadonlyArray<AccountFilter> | null | undefined;
  readonly hasProfile?: boolean | null | undefined;
  readonly ids?: ReadonlyArray<string> | null | undefined;
  readonly not?: AccountFilter | null | undefined;
  readonly or?: ReadonlyArray<AccountFilter> | null | undefined;
  readonly platform?: string | null | undefined;
  readonly platforms?: ReadonlyArray<string> | null | undefined;
  readonly profile?: ProfileFilter | null | undefined;
  readonly search?: string | null | undefined;
  readonly status?: AccountStatus | null | undefined;
  readonly statuses?: ReadonlyArray<AccountStatus> | null | undefined;
  readonly updatedAfter?: string | null | undefined;
  readonly user?: UserFilter | null | undefined;
  readonly userId?: string | null | undefined;
};

export type AccountStatus =
  | 'CONNECTED'
  | 'DISCONNECTED'
  | 'EXPIRED';

export type CancelJobInput = {
  readonly id: string;
};

export type CancelJobsInput = {
  readonly filter: JobFilter;
  readonly limit?: number | null | undefined;
};

export type CreateAccessTokenInput = {
  readonly expiresInSeconds?: number | null | undefined;
  readonly scopes?: ReadonlyArray<string> | null | undefined;
  readonly userId?: string | null | undefined;
};

export type CreateApiKeyInput = {
  readonly expiresAt?: string | null | undefined;
  readonly name: string;
  readonly pointsPerMinute?: number | null | undefined;
  readonly scopes?: ReadonlyArray<string> | null | undefined;
};

export type CreateWebhookInput = {
  readonly description?: string | null | undefined;
  readonly eventTypes: ReadonlyArray<EventType>;
  readonly query?: string | null | undefined;
  readonly url: string;
};

export type DeleteWebhookInput = {
  readonly id: string;
};

export type EventType =
  | 'ACCOUNT_LINKED'
  | 'ACCOUNT_UNLINKED'
  | 'ACCOUNT_UPDATED'
  | 'JOB_CANCELLED'
  | 'JOB_CREATED'
  | 'JOB_FAILED'
  | 'JOB_RETRIED'
  | 'JOB_STARTED'
  | 'JOB_SUCCEEDED'
  | 'JOB_UPDATED'
  | 'PROFILE_SYNCED'
  | 'USER_CREATED'
  | 'USER_DELETED'
  | 'USER_UPDATED'
  | 'WEBHOOK_DISABLED';

export type EventsToRedeliver =
  {   readonly after: string; readonly eventIds?: never; }
  |  { readonly after?: never;   readonly eventIds: ReadonlyArray<string>; };

export type JobFilter = {
  readonly and?: ReadonlyArray<JobFilter> | null | undefined;
  readonly createdAfter?: string | null | undefined;
  readonly createdBefore?: string | null | undefined;
  readonly ids?: ReadonlyArray<string> | null | undefined;
  readonly jobType?: string | null | undefined;
  readonly jobTypes?: ReadonlyArray<string> | null | undefined;
  readonly not?: JobFilter | null | undefined;
  readonly or?: ReadonlyArray<JobFilter> | null | undefined;
  readonly status?: JobStatus | null | undefined;
  readonly statuses?: ReadonlyArray<JobStatus> | null | undefined;
};

export type JobOrder = {
  readonly direction: OrderDirection;
  readonly field: JobOrderField;
};

export type JobOrderField =
  | 'CREATED_AT';

export type JobStatus =
  | 'CANCELLED'
  | 'FAILED'
  | 'PENDING'
  | 'RUNNING'
  | 'SUCCEEDED';

export type OrderDirection =
  | 'ASC'
  | 'DESC';

export type ProfileFilter = {
  readonly account?: AccountFilter | null | undefined;
  readonly and?: ReadonlyArray<ProfileFilter> | null | undefined;
  readonly categories?: ReadonlyArray<string> | null | undefined;
  readonly category?: string | null | undefined;
  readonly categoryIsNull?: boolean | null | undefined;
  readonly contentsCountIsNull?: boolean | null | undefined;
  readonly countries?: ReadonlyArray<string> | null | undefined;
  readonly country?: string | null | undefined;
  readonly countryIsNull?: boolean | null | undefined;
  readonly dateOfBirthIsNull?: boolean | null | undefined;
  readonly descriptionIsNull?: boolean | null | undefined;
  readonly displayNameIsNull?: boolean | null | undefined;
  readonly firstNameIsNull?: boolean | null | undefined;
  readonly followersCountIsNull?: boolean | null | undefined;
  readonly followersMax?: number | null | undefined;
  readonly followersMin?: number | null | undefined;
  readonly followingCountIsNull?: boolean | null | undefined;
  readonly fullNameIsNull?: boolean | null | undefined;
  readonly genderIsNull?: boolean | null | undefined;
  readonly ids?: ReadonlyArray<string> | null | undefined;
  readonly joinedAtIsNull?: boolean | null | undefined;
  readonly lastNameIsNull?: boolean | null | undefined;
  readonly nickNameIsNull?: boolean | null | undefined;
  readonly not?: ProfileFilter | null | undefined;
  readonly or?: ReadonlyArray<ProfileFilter> | null | undefined;
  readonly platform?: string | null | undefined;
  readonly platforms?: ReadonlyArray<string> | null | undefined;
  readonly profilePictureUrlIsNull?: boolean | null | undefined;
  readonly search?: string | null | undefined;
  readonly subscribersCountIsNull?: boolean | null | undefined;
  readonly updatedAfter?: string | null | undefined;
  readonly urlIsNull?: boolean | null | undefined;
  readonly usernameIsNull?: boolean | null | undefined;
  readonly verified?: boolean | null | undefined;
  readonly verifiedIsNull?: boolean | null | undefined;
  readonly watchTimeInHoursIsNull?: boolean | null | undefined;
  readonly websiteUrlIsNull?: boolean | null | undefined;
};

export type RedeliverEventsInput = {
  /** @deprecated Use `events`. */
  readonly after?: string | null | undefined;
  /** @deprecated Use `events`. */
  readonly eventIds?: ReadonlyArray<string> | null | undefined;
  readonly events?: EventsToRedeliver | null | undefined;
  readonly webhookId: string;
};

export type RetryJobInput = {
  readonly id: string;
};

export type RetryJobsInput = {
  readonly filter: JobFilter;
  readonly limit?: number | null | undefined;
};

export type RevokeApiKeyInput = {
  readonly id: string;
};

export type RotateWebhookSecretInput = {
  readonly id: string;
};

export type UpdateWebhookInput = {
  readonly description?: string | null | undefined;
  readonly enabled?: boolean | null | undefined;
  readonly eventTypes?: ReadonlyArray<EventType> | null | undefined;
  readonly id: string;
  readonly query?: string | null | undefined;
  readonly url?: string | null | undefined;
};

export type UserFilter = {
  readonly account?: AccountFilter | null | undefined;
  readonly and?: ReadonlyArray<UserFilter> | null | undefined;
  readonly createdAfter?: string | null | undefined;
  readonly createdBefore?: string | null | undefined;
  readonly email?: string | null | undefined;
  readonly hasAccounts?: boolean | null | undefined;
  readonly ids?: ReadonlyArray<string> | null | undefined;
  readonly nameContains?: string | null | undefined;
  readonly not?: UserFilter | null | undefined;
  readonly or?: ReadonlyArray<UserFilter> | null | undefined;
  readonly phoneIsNull?: boolean | null | undefined;
  readonly platform?: string | null | undefined;
  readonly platforms?: ReadonlyArray<string> | null | undefined;
  readonly search?: string | null | undefined;
  readonly updatedAfter?: string | null | undefined;
  readonly updatedBefore?: string | null | undefined;
};

export type UserOrder = {
  readonly direction: OrderDirection;
  readonly field: UserOrderField;
};

export type UserOrderField =
  | 'CREATED_AT'
  | 'NAME'
  | 'UPDATED_AT';

export type WebhookDeliveryStatus =
  | 'FAILED'
  | 'PENDING'
  | 'RUNNING'
  | 'SUCCEEDED';

export type JobRowFragment = { readonly id: string, readonly status: JobStatus, readonly jobType: string | null, readonly attempts: number, readonly maxAttempts: number | null, readonly createdAt: string, readonly startedAt: string | null, readonly finishedAt: string | null, readonly error: { readonly message: string } | null };

export type JobsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  filter?: JobFilter | null | undefined;
  orderBy?: JobOrder | null | undefined;
  isFirst: boolean;
}>;


export type JobsQuery = { readonly jobs: { readonly totalCount?: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly status: JobStatus, readonly jobType: string | null, readonly attempts: number, readonly maxAttempts: number | null, readonly createdAt: string, readonly startedAt: string | null, readonly finishedAt: string | null, readonly error: { readonly message: string } | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type JobChangesSubscriptionVariables = Exact<{
  filter?: JobFilter | null | undefined;
}>;


export type JobChangesSubscription = { readonly jobs: ReadonlyArray<{ readonly id: string, readonly status: JobStatus, readonly jobType: string | null, readonly attempts: number, readonly maxAttempts: number | null, readonly createdAt: string, readonly startedAt: string | null, readonly finishedAt: string | null, readonly error: { readonly message: string } | null }> };

export type JobStatsQueryVariables = Exact<{ [key: string]: never; }>;


export type JobStatsQuery = { readonly tenantStats: { readonly jobsByStatus: ReadonlyArray<{ readonly status: JobStatus, readonly count: number }> | null } | null };

export type JobDetailsFragment = { readonly id: string, readonly status: JobStatus, readonly jobType: string | null, readonly attempts: number, readonly maxAttempts: number | null, readonly progress: number | null, readonly progressMessage: string | null, readonly payload: object | null, readonly result: object | null, readonly createdAt: string, readonly runAt: string | null, readonly startedAt: string | null, readonly finishedAt: string | null, readonly updatedAt: string, readonly error: { readonly code: string, readonly message: string, readonly attempt: number, readonly at: string } | null };

export type JobQueryVariables = Exact<{
  id: string;
}>;


export type JobQuery = { readonly job: { readonly id: string, readonly status: JobStatus, readonly jobType: string | null, readonly attempts: number, readonly maxAttempts: number | null, readonly progress: number | null, readonly progressMessage: string | null, readonly payload: object | null, readonly result: object | null, readonly createdAt: string, readonly runAt: string | null, readonly startedAt: string | null, readonly finishedAt: string | null, readonly updatedAt: string, readonly error: { readonly code: string, readonly message: string, readonly attempt: number, readonly at: string } | null } | null };

export type JobProgressSubscriptionVariables = Exact<{
  id: string;
}>;


export type JobProgressSubscription = { readonly job: { readonly id: string, readonly status: JobStatus, readonly jobType: string | null, readonly attempts: number, readonly maxAttempts: number | null, readonly progress: number | null, readonly progressMessage: string | null, readonly payload: object | null, readonly result: object | null, readonly createdAt: string, readonly runAt: string | null, readonly startedAt: string | null, readonly finishedAt: string | null, readonly updatedAt: string, readonly error: { readonly code: string, readonly message: string, readonly attempt: number, readonly at: string } | null } | null };

export type JobHistoryQueryVariables = Exact<{
  id: string;
}>;


export type JobHistoryQuery = { readonly events: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly type: EventType, readonly createdAt: string, readonly keyId: string | null }> } | null };

export type MatchingJobsQueryVariables = Exact<{
  one?: JobFilter | null | undefined;
  other?: JobFilter | null | undefined;
}>;


export type MatchingJobsQuery = { readonly one: { readonly totalCount: number } | null, readonly other: { readonly totalCount: number } | null };

export type RetryJobMutationVariables = Exact<{
  input: RetryJobInput;
}>;


export type RetryJobMutation = { readonly retryJob: { readonly job: { readonly id: string, readonly status: JobStatus } | null, readonly userErrors: ReadonlyArray<{ readonly field: ReadonlyArray<string> | null, readonly message: string }> } };

export type CancelJobMutationVariables = Exact<{
  input: CancelJobInput;
}>;


export type CancelJobMutation = { readonly cancelJob: { readonly job: { readonly id: string, readonly status: JobStatus } | null, readonly userErrors: ReadonlyArray<{ readonly field: ReadonlyArray<string> | null, readonly message: string }> } };

export type RetryJobsMutationVariables = Exact<{
  input: RetryJobsInput;
}>;


export type RetryJobsMutation = { readonly retryJobs: { readonly retriedCount: number | null, readonly remainingCount: number | null, readonly userErrors: ReadonlyArray<{ readonly field: ReadonlyArray<string> | null, readonly message: string }> } };

export type CancelJobsMutationVariables = Exact<{
  input: CancelJobsInput;
}>;


export type CancelJobsMutation = { readonly cancelJobs: { readonly cancelledCount: number | null, readonly remainingCount: number | null, readonly userErrors: ReadonlyArray<{ readonly field: ReadonlyArray<string> | null, readonly message: string }> } };

export type KeyRowFragment = { readonly id: string, readonly name: string, readonly scopes: ReadonlyArray<string>, readonly createdAt: string, readonly lastUsedAt: string | null, readonly expiresAt: string | null, readonly revokedAt: string | null, readonly pointsPerMinute: number | null };

export type ApiKeysQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ApiKeysQuery = { readonly apiKeys: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly name: string, readonly scopes: ReadonlyArray<string>, readonly createdAt: string, readonly lastUsedAt: string | null, readonly expiresAt: string | null, readonly revokedAt: string | null, readonly pointsPerMinute: number | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type ApiKeyQueryVariables = Exact<{
  id: string;
}>;


export type ApiKeyQuery = { readonly node:
    | { readonly __typename: 'Account' }
    | { readonly __typename: 'ApiKey', readonly id: string, readonly name: string, readonly scopes: ReadonlyArray<string>, readonly createdAt: string, readonly lastUsedAt: string | null, readonly expiresAt: string | null, readonly revokedAt: string | null, readonly pointsPerMinute: number | null, readonly creator: { readonly id: string, readonly name: string } | null }
    | { readonly __typename: 'EmailRecord' }
    | { readonly __typename: 'Job' }
    | { readonly __typename: 'Profile' }
    | { readonly __typename: 'User' }
    | { readonly __typename: 'Webhook' }
   | null };

export type CreateApiKeyMutationVariables = Exact<{
  input: CreateApiKeyInput;
}>;


export type CreateApiKeyMutation = { readonly createApiKey: { readonly key: string | null, readonly apiKey: { readonly id: string } | null, readonly userErrors: ReadonlyArray<{ readonly field: ReadonlyArray<string> | null, readonly message: string }> } };

export type RevokeApiKeyMutationVariables = Exact<{
  input: RevokeApiKeyInput;
}>;


export type RevokeApiKeyMutation = { readonly revokeApiKey: { readonly apiKey: { readonly id: string, readonly revokedAt: string | null } | null, readonly userErrors: ReadonlyArray<{ readonly field: ReadonlyArray<string> | null, readonly message: string }> } };

export type CreateAccessTokenMutationVariables = Exact<{
  input: CreateAccessTokenInput;
}>;


export type CreateAccessTokenMutation = { readonly createAccessToken: { readonly accessToken: string | null, readonly expiresAt: string | null, readonly userErrors: ReadonlyArray<{ readonly field: ReadonlyArray<string> | null, readonly message: string }> } };

export type UsageQueryVariables = Exact<{
  from?: string | null | undefined;
}>;


export type UsageQuery = { readonly usage: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly day: string, readonly requests: number, readonly errors: number }>, readonly pageInfo: { readonly hasNextPage: boolean }, readonly operations: ReadonlyArray<{ readonly keyName: string | null, readonly clientName: string | null, readonly clientVersion: string | null, readonly operationName: string | null, readonly operationHash: string | null, readonly requests: number, readonly errors: number, readonly points: number, readonly p50: number, readonly p95: number, readonly lastUsedAt: string }>, readonly fields: ReadonlyArray<{ readonly field: string, readonly requests: number, readonly lastUsedAt: string | null, readonly deprecationReason: string | null }> } | null };

export type UserRowFragment = { readonly id: string, readonly name: string, readonly email?: string | null, readonly createdAt: string, readonly updatedAt: string, readonly accounts: ReadonlyArray<{ readonly id: string, readonly platform: string }> };

export type UsersQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  filter?: UserFilter | null | undefined;
  orderBy?: UserOrder | null | undefined;
  isFirst: boolean;
  contacts: boolean;
  log: boolean;
}>;


export type UsersQuery = { readonly users: { readonly totalCount?: number, readonly nodes: ReadonlyArray<{ readonly id: string, readonly name: string, readonly email?: string | null, readonly createdAt: string, readonly updatedAt: string, readonly accounts: ReadonlyArray<{ readonly id: string, readonly platform: string }> }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null, readonly events?: { readonly nodes: ReadonlyArray<{ readonly id: string }> } | null };

export type UserChangesSubscriptionVariables = Exact<{
  after?: string | null | undefined;
  types?: ReadonlyArray<EventType> | EventType | null | undefined;
  contacts: boolean;
}>;


export type UserChangesSubscription = { readonly events: { readonly id: string, readonly type: EventType, readonly resourceId: string, readonly userId: string | null, readonly node:
      | { readonly __typename: 'Account' }
      | { readonly __typename: 'ApiKey' }
      | { readonly __typename: 'EmailRecord' }
      | { readonly __typename: 'Job' }
      | { readonly __typename: 'Profile' }
      | { readonly __typename: 'User', readonly id: string, readonly name: string, readonly email?: string | null, readonly createdAt: string, readonly updatedAt: string, readonly accounts: ReadonlyArray<{ readonly id: string, readonly platform: string }> }
      | { readonly __typename: 'Webhook' }
     | null } };

export type PlatformsQueryVariables = Exact<{ [key: string]: never; }>;


export type PlatformsQuery = { readonly tenantStats: { readonly accountsByPlatform: ReadonlyArray<{ readonly platform: string, readonly count: number }> } | null };

export type UserQueryVariables = Exact<{
  id: string;
  contacts: boolean;
  profiles: boolean;
}>;


export type UserQuery = { readonly user: { readonly id: string, readonly name: string, readonly email?: string | null, readonly phone?: string | null, readonly createdAt: string, readonly updatedAt: string, readonly accounts: ReadonlyArray<{ readonly id: string, readonly platform: string, readonly platformAccountId: string, readonly displayName: string, readonly status: AccountStatus, readonly profile?: { readonly id: string, readonly username: string | null, readonly followersCount: number | null, readonly subscribersCount: number | null, readonly contentsCount: number | null, readonly country: string | null, readonly verified: boolean | null, readonly syncedAt: string, readonly emails?: ReadonlyArray<{ readonly id: string, readonly value: string }> | null } | null }> } | null };

export type HistoryQueryVariables = Exact<{
  id: string;
}>;


export type HistoryQuery = { readonly events: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly type: EventType, readonly createdAt: string, readonly keyId: string | null }> } | null };

export type ViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type ViewerQuery = { readonly viewer: { readonly keyName: string, readonly scopes: ReadonlyArray<string>, readonly tenantApp: { readonly id: string, readonly name: string } } | null };

export type WebhooksQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type WebhooksQuery = { readonly webhooks: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly url: string, readonly description: string | null, readonly enabled: boolean, readonly disabledReason: string | null, readonly eventTypes: ReadonlyArray<EventType>, readonly createdAt: string }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type WebhookQueryVariables = Exact<{
  id: string;
  first: number;
}>;


export type WebhookQuery = { readonly webhook: { readonly id: string, readonly url: string, readonly description: string | null, readonly enabled: boolean, readonly disabledReason: string | null, readonly eventTypes: ReadonlyArray<EventType>, readonly query: string | null, readonly createdAt: string, readonly updatedAt: string, readonly deliveries: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly eventId: string, readonly eventType: EventType, readonly status: WebhookDeliveryStatus, readonly attempts: number, readonly responseStatus: number | null, readonly error: string | null, readonly createdAt: string, readonly nextAttemptAt: string | null }>, readonly pageInfo: { readonly hasNextPage: boolean } } } | null };

export type CreateWebhookMutationVariables = Exact<{
  input: CreateWebhookInput;
}>;


export type CreateWebhookMutation = { readonly createWebhook: { readonly secret: string | null, readonly webhook: { readonly id: string } | null, readonly userErrors: ReadonlyArray<{ readonly field: ReadonlyArray<string> | null, readonly message: string }> } };

export type UpdateWebhookMutationVariables = Exact<{
  input: UpdateWebhookInput;
}>;


export type UpdateWebhookMutation = { readonly updateWebhook: { readonly webhook: { readonly id: string, readonly enabled: boolean } | null, readonly userErrors: ReadonlyArray<{ readonly field: ReadonlyArray<string> | null, readonly message: string }> } };

export type RotateWebhookSecretMutationVariables = Exact<{
  input: RotateWebhookSecretInput;
}>;


export type RotateWebhookSecretMutation = { readonly rotateWebhookSecret: { readonly secret: string | null, readonly userErrors: ReadonlyArray<{ readonly field: ReadonlyArray<string> | null, readonly message: string }> } };

export type DeleteWebhookMutationVariables = Exact<{
  input: DeleteWebhookInput;
}>;


export type DeleteWebhookMutation = { readonly deleteWebhook: { readonly deletedWebhookId: string | null, readonly userErrors: ReadonlyArray<{ readonly field: ReadonlyArray<string> | null, readonly message: string }> } };

export type RedeliverEventsMutationVariables = Exact<{
  input: RedeliverEventsInput;
}>;


export type RedeliverEventsMutation = { readonly redeliverEvents: { readonly webhook: { readonly id: string } | null, readonly userErrors: ReadonlyArray<{ readonly field: ReadonlyArray<string> | null, readonly message: string }> } };

export const jobsQuery = `query Jobs($first: Int, $after: String, $filter: JobFilter, $orderBy: JobOrder, $isFirst: Boolean!) {
  jobs(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
    nodes {
      ...JobRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
    totalCount @include(if: $isFirst)
  }
}

fragment JobRow on Job {
  id
  status
  jobType
  attempts
  maxAttempts
  createdAt
  startedAt
  finishedAt
  error {
    message
  }
}` as Document<JobsQuery, JobsQueryVariables>

export const jobChangesSubscription = `subscription JobChanges($filter: JobFilter) {
  jobs(first: 20, filter: $filter) {
    ...JobRow
  }
}

fragment JobRow on Job {
  id
  status
  jobType
  attempts
  maxAttempts
  createdAt
  startedAt
  finishedAt
  error {
    message
  }
}` as Document<JobChangesSubscription, JobChangesSubscriptionVariables>

export const jobStatsQuery = `query JobStats {
  tenantStats {
    jobsByStatus {
      status
      count
    }
  }
}` as Document<JobStatsQuery, JobStatsQueryVariables>

export const jobQuery = `query Job($id: ID!) {
  job(id: $id) {
    ...JobDetails
  }
}

fragment JobDetails on Job {
  id
  status
  jobType
  attempts
  maxAttempts
  progress
  progressMessage
  payload
  result
  error {
    code
    message
    attempt
    at
  }
  createdAt
  runAt
  startedAt
  finishedAt
  updatedAt
}` as Document<JobQuery, JobQueryVariables>

export const jobProgressSubscription = `subscription JobProgress($id: ID!) {
  job(id: $id) {
    ...JobDetails
  }
}

fragment JobDetails on Job {
  id
  status
  jobType
  attempts
  maxAttempts
  progress
  progressMessage
  payload
  result
  error {
    code
    message
    attempt
    at
  }
  createdAt
  runAt
  startedAt
  finishedAt
  updatedAt
}` as Document<JobProgressSubscription, JobProgressSubscriptionVariables>

export const jobHistoryQuery = `query JobHistory($id: ID!) {
  events(
    last: 50
    filter: {
      resourceId: $id
      types: [JOB_CREATED, JOB_STARTED, JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED, JOB_RETRIED]
    }
  ) {
    nodes {
      id
      type
      createdAt
      keyId
    }
  }
}` as Document<JobHistoryQuery, JobHistoryQueryVariables>

export const matchingJobsQuery = `query MatchingJobs($one: JobFilter, $other: JobFilter) {
  one: jobs(first: 1, filter: $one) {
    totalCount
  }
  other: jobs(first: 1, filter: $other) {
    totalCount
  }
}` as Document<MatchingJobsQuery, MatchingJobsQueryVariables>

export const retryJobMutation = `mutation RetryJob($input: RetryJobInput!) {
  retryJob(input: $input) {
    job {
      id
      status
    }
    userErrors {
      field
      message
    }
  }
}` as Document<RetryJobMutation, RetryJobMutationVariables>

export const cancelJobMutation = `mutation CancelJob($input: CancelJobInput!) {
  cancelJob(input: $input) {
    job {
      id
      status
    }
    userErrors {
      field
      message
    }
  }
}` as Document<CancelJobMutation, CancelJobMutationVariables>

export const retryJobsMutation = `mutation RetryJobs($input: RetryJobsInput!) {
  retryJobs(input: $input) {
    retriedCount
    remainingCount
    userErrors {
      field
      message
    }
  }
}` as Document<RetryJobsMutation, RetryJobsMutationVariables>

export const cancelJobsMutation = `mutation CancelJobs($input: CancelJobsInput!) {
  cancelJobs(input: $input) {
    cancelledCount
    remainingCount
    userErrors {
      field
      message
    }
  }
}` as Document<CancelJobsMutation, CancelJobsMutationVariables>

export const apiKeysQuery = `query ApiKeys($first: Int, $after: String) {
  apiKeys(first: $first, after: $after) {
    nodes {
      ...KeyRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}

fragment KeyRow on ApiKey {
  id
  name
  scopes
  createdAt
  lastUsedAt
  expiresAt
  revokedAt
  pointsPerMinute
}` as Document<ApiKeysQuery, ApiKeysQueryVariables>

export const apiKeyQuery = `query ApiKey($id: ID!) {
  node(id: $id) {
    __typename
    ... on ApiKey {
      ...KeyRow
      creator {
        id
        name
      }
    }
  }
}

fragment KeyRow on ApiKey {
  id
  name
  scopes
  createdAt
  lastUsedAt
  expiresAt
  revokedAt
  pointsPerMinute
}` as Document<ApiKeyQuery, ApiKeyQueryVariables>

export const createApiKeyMutation = `mutation CreateApiKey($input: CreateApiKeyInput!) {
  createApiKey(input: $input) {
    apiKey {
      id
    }
    key
    userErrors {
      field
      message
    }
  }
}` as Document<CreateApiKeyMutation, CreateApiKeyMutationVariables>

export const revokeApiKeyMutation = `mutation RevokeApiKey($input: RevokeApiKeyInput!) {
  revokeApiKey(input: $input) {
    apiKey {
      id
      revokedAt
    }
    userErrors {
      field
      message
    }
  }
}` as Document<RevokeApiKeyMutation, RevokeApiKeyMutationVariables>

export const createAccessTokenMutation = `mutation CreateAccessToken($input: CreateAccessTokenInput!) {
  createAccessToken(input: $input) {
    accessToken
    expiresAt
    userErrors {
      field
      message
    }
  }
}` as Document<CreateAccessTokenMutation, CreateAccessTokenMutationVariables>

export const usageQuery = `query Usage($from: Date) {
  usage(from: $from, first: 500) {
    nodes {
      id
      day
      requests
      errors
    }
    pageInfo {
      hasNextPage
    }
    operations {
      keyName
      clientName
      clientVersion
      operationName
      operationHash
      requests
      errors
      points
      p50
      p95
      lastUsedAt
    }
    fields {
      field
      requests
      lastUsedAt
      deprecationReason
    }
  }
}` as Document<UsageQuery, UsageQueryVariables>

export const usersQuery = `query Users(
  $first: Int
  $after: String
  $filter: UserFilter
  $orderBy: UserOrder
  $isFirst: Boolean!
  $contacts: Boolean!
  $log: Boolean!
) {
  users(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
    nodes {
      ...UserRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
    totalCount @include(if: $isFirst)
  }
  events(last: 1) @include(if: $log) {
    nodes {
      id
    }
  }
}

fragment UserRow on User {
  id
  name
  email @include(if: $contacts)
  createdAt
  updatedAt
  accounts {
    id
    platform
  }
}` as Document<UsersQuery, UsersQueryVariables>

export const userChangesSubscription = `subscription UserChanges($after: ID, $types: [EventType!], $contacts: Boolean!) {
  events(after: $after, types: $types) {
    id
    type
    resourceId
    userId
    node {
      __typename
      ... on User {
        ...UserRow
      }
    }
  }
}

fragment UserRow on User {
  id
  name
  email @include(if: $contacts)
  createdAt
  updatedAt
  accounts {
    id
    platform
  }
}` as Document<UserChangesSubscription, UserChangesSubscriptionVariables>

export const platformsQuery = `query Platforms {
  tenantStats {
    accountsByPlatform {
      platform
      count
    }
  }
}` as Document<PlatformsQuery, PlatformsQueryVariables>

export const userQuery = `query User($id: ID!, $contacts: Boolean!, $profiles: Boolean!) {
  user(id: $id) {
    id
    name
    email @include(if: $contacts)
    phone @include(if: $contacts)
    createdAt
    updatedAt
    accounts {
      id
      platform
      platformAccountId
      displayName
      status
      profile @include(if: $profiles) {
        id
        username
        followersCount
        subscribersCount
        contentsCount
        country
        verified
        syncedAt
        emails @include(if: $contacts) {
          id
          value
        }
      }
    }
  }
}` as Document<UserQuery, UserQueryVariables>

export const historyQuery = `query History($id: ID!) {
  events(last: 20, filter: { userId: $id }) {
    nodes {
      id
      type
      createdAt
      keyId
    }
  }
}` as Document<HistoryQuery, HistoryQueryVariables>

export const viewerQuery = `query Viewer {
  viewer {
    keyName
    scopes
    tenantApp {
      id
      name
    }
  }
}` as Document<ViewerQuery, ViewerQueryVariables>

export const webhooksQuery = `query Webhooks($first: Int, $after: String) {
  webhooks(first: $first, after: $after) {
    nodes {
      id
      url
      description
      enabled
      disabledReason
      eventTypes
      createdAt
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}` as Document<WebhooksQuery, WebhooksQueryVariables>

export const webhookQuery = `query Webhook($id: ID!, $first: Int!) {
  webhook(id: $id) {
    id
    url
    description
    enabled
    disabledReason
    eventTypes
    query
    createdAt
    updatedAt
    deliveries(first: $first) {
      nodes {
        id
        eventId
        eventType
        status
        attempts
        responseStatus
        error
        createdAt
        nextAttemptAt
      }
      pageInfo {
        hasNextPage
      }
    }
  }
}` as Document<WebhookQuery, WebhookQueryVariables>

export const createWebhookMutation = `mutation CreateWebhook($input: CreateWebhookInput!) {
  createWebhook(input: $input) {
    webhook {
      id
    }
    secret
    userErrors {
      field
      message
    }
  }
}` as Document<CreateWebhookMutation, CreateWebhookMutationVariables>

export const updateWebhookMutation = `mutation UpdateWebhook($input: UpdateWebhookInput!) {
  updateWebhook(input: $input) {
    webhook {
      id
      enabled
    }
    userErrors {
      field
      message
    }
  }
}` as Document<UpdateWebhookMutation, UpdateWebhookMutationVariables>

export const rotateWebhookSecretMutation = `mutation RotateWebhookSecret($input: RotateWebhookSecretInput!) {
  rotateWebhookSecret(input: $input) {
    secret
    userErrors {
      field
      message
    }
  }
}` as Document<RotateWebhookSecretMutation, RotateWebhookSecretMutationVariables>

export const deleteWebhookMutation = `mutation DeleteWebhook($input: DeleteWebhookInput!) {
  deleteWebhook(input: $input) {
    deletedWebhookId
    userErrors {
      field
      message
    }
  }
}` as Document<DeleteWebhookMutation, DeleteWebhookMutationVariables>

export const redeliverEventsMutation = `mutation RedeliverEvents($input: RedeliverEventsInput!) {
  redeliverEvents(input: $input) {
    webhook {
      id
    }
    userErrors {
      field
      message
    }
  }
}` as Document<RedeliverEventsMutation, RedeliverEventsMutationVariables>
