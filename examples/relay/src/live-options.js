/** The options of `useLazyLoadQuery(liveUsers, {}, liveOptions)`. A document that is sent by its id does not say that it is live. */
export const liveOptions = {
  fetchPolicy: 'store-and-network',
  networkCacheConfig: { metadata: { live: true } },
}
