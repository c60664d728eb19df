// Fields that are not selected:
// - usage, webhooks and deliveries belong to operators, and what they return depends on when a process writes;
// - the time when a key was last used changes with the requests of the run;
// - the words in which an input is rejected; its code and its field are compared.
// Subscriptions have a test of their own (test/graphql/subscriptions.test.ts).
// What each request says of its own cost and limits is in `extensions` and in headers, which are not compared.
const leftOut = [
  // test/graphql/stats.test.ts compares these.
  'Query.userStats',
  'Query.profileStats',
  'Query.jobStats',
  // test/history/history.test.ts and test/graphql/groups.test.ts compare these.
  'Profile.history',
  'Profile.growth',
  'UserConnection.totalCountEstimate',
  'AccountConnection.totalCountEstimate',
  'ProfileConnection.totalCountEstimate',
  'JobConnection.totalCountEstimate',
  'Query.usage',
  'Query.webhook',
  'Query.webhooks',
  'ApiKey.lastUsedAt',
  'Webhook.deliveries',
  'UserError.message',
]

/** Whether operations do not select a field. */
export function isLeftOut(typename: string, field: string): boolean {
  return leftOut.includes(`${typename}.${field}`)
}
