// Generated from schema.graphql: npm run schema

/** Interfaces, and the types of their objects. Without them a cache drops the fields of `... on Node`. */
export const possibleTypes: Lists = {
  "Node": [
    "Account",
    "ApiKey",
    "EmailRecord",
    "Job",
    "Profile",
    "User",
    "Webhook"
  ],
  "UsageCounts": [
    "OperationUsage",
    "Usage"
  ]
}

/** The lists with pages of each type, and the arguments that make another list. */
export const pagedLists: Readonly<Record<string, Lists>> = {
  "Query": {
    "accounts": [
      "filter",
      "orderBy",
      "thenBy"
    ],
    "apiKeys": [],
    "events": [
      "filter"
    ],
    "jobs": [
      "filter",
      "orderBy"
    ],
    "searchProfiles": [
      "filter",
      "orderBy",
      "thenBy"
    ],
    "usage": [
      "from",
      "to"
    ],
    "users": [
      "filter",
      "orderBy",
      "thenBy"
    ],
    "webhooks": []
  },
  "User": {
    "accountsConnection": [
      "filter",
      "orderBy",
      "thenBy"
    ]
  },
  "Webhook": {
    "deliveries": [
      "filter"
    ]
  }
}

/** The lists of objects without pages, by type. Each result replaces the one before. */
export const replacedLists: Lists = {
  "Profile": [
    "emails"
  ],
  "Subscription": [
    "jobs"
  ],
  "User": [
    "accounts"
  ]
}

/** There is one of each, so their key is their name. */
export const singletons: string[] = [
  "TenantStats",
  "Viewer"
]

/** Parts of a page read different numbers of the same statistics, which belong together. */
export const statistics: string[] = [
  "GroupNumbers",
  "JobStats",
  "NumberStats",
  "ProfileStats",
  "UserStats",
  "VerifiedCounts"
]

/** Other objects without an id. They are parts of the object that has them. */
export const parts: string[] = [
  "AccountStatusCount",
  "FieldUsage",
  "GroupCount",
  "JobError",
  "JobGroup",
  "JobLease",
  "JobStatusCount",
  "MetricPoint",
  "OperationUsage",
  "PlatformCount",
  "ProfileGroup",
  "UserError",
  "UserGroup"
]

/** The fields of Query that a deletion changes. */
export const countedFields: string[] = [
  "accounts",
  "jobStats",
  "profileStats",
  "searchProfiles",
  "tenantStats",
  "userStats",
  "users",
  "webhooks"
]

/** The mutations that delete. */
export const deletingMutations: string[] = [
  "deleteUser",
  "deleteUsers",
  "deleteWebhook",
  "unlinkAccount",
  "unlinkAccounts"
]

/** The fields of their results that name what was deleted, and its type. */
export const deletedIds: Readonly<Record<string, string>> = {
  "deletedProfileIds": "Profile",
  "deletedUserId": "User",
  "unlinkedAccountIds": "Account",
  "deletedWebhookId": "Webhook",
  "deletedProfileId": "Profile",
  "unlinkedAccountId": "Account"
}

/** The events of deletions, and the type of their `resourceId`. */
export const deletedByEvent: Readonly<Record<string, string>> = {
  "ACCOUNT_UNLINKED": "Account",
  "USER_DELETED": "User"
}

/** The mutations that create, and the type of what they create. A profile that is synced may be a new one. */
export const creatingMutations: Readonly<Record<string, string>> = {
  "createApiKey": "ApiKey",
  "createJob": "Job",
  "createJobs": "Job",
  "createUser": "User",
  "createUsers": "User",
  "createWebhook": "Webhook",
  "linkAccount": "Account",
  "linkAccounts": "Account",
  "syncProfile": "Profile",
  "syncProfiles": "Profile",
  "upsertUser": "User",
  "upsertUsers": "User"
}

/** The events of creations, and the type of their `resourceId`. */
export const createdByEvent: Readonly<Record<string, string>> = {
  "ACCOUNT_LINKED": "Account",
  "JOB_CREATED": "Job",
  "PROFILE_SYNCED": "Profile",
  "USER_CREATED": "User"
}

/**
 * The fields that a new object of a type changes, by their type: its lists, those of objects that it belongs to, and
 * numbers.
 */
export const changedByCreation: Readonly<Record<string, Lists>> = {
  "ApiKey": {
    "Query": [
      "apiKey",
      "apiKeys",
      "jobStats",
      "profileStats",
      "tenantStats",
      "userStats"
    ]
  },
  "Job": {
    "Query": [
      "job",
      "jobStats",
      "jobs",
      "profileStats",
      "tenantStats",
      "userStats"
    ]
  },
  "User": {
    "Query": [
      "jobStats",
      "profileStats",
      "tenantStats",
      "user",
      "userByExternalId",
      "userStats",
      "users"
    ]
  },
  "Webhook": {
    "Query": [
      "jobStats",
      "profileStats",
      "tenantStats",
      "userStats",
      "webhook",
      "webhooks"
    ]
  },
  "Account": {
    "Query": [
      "account",
      "accounts",
      "jobStats",
      "profileStats",
      "tenantStats",
      "userStats",
      "users"
    ],
    "User": [
      "accounts",
      "accountsConnection"
    ]
  },
  "Profile": {
    "Account": [
      "profile"
    ],
    "Query": [
      "accounts",
      "jobStats",
      "profile",
      "profileStats",
      "profiles",
      "searchProfiles",
      "tenantStats",
      "userStats",
      "users"
    ]
  }
}

/** The scalars, for the `scalars` of GraphQL Codegen and the `customScalarTypes` of Relay. */
export const scalars: Readonly<Record<string, string>> = {
  "String": "string",
  "ID": "string",
  "Int": "number",
  "Boolean": "boolean",
  "Date": "string",
  "DateTime": "string",
  "Float": "number",
  "JSONObject": "{ [key: string]: unknown }",
  "JSONScalar": "string | number | boolean",
  "SafeInt": "number"
}

type Lists = Readonly<Record<string, string[]>>
