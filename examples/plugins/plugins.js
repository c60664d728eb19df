import { hostname } from 'node:os'
import { useHive } from '@graphql-hive/yoga'
import { useCookies } from '@whatwg-node/server-plugin-cookies'

/** Names this gateway in a cookie, by which a load balancer sends a browser to it again. */
const useSameGateway = {
  onRequest: ({ request }) => request.cookieStore.set('gateway', hostname()),
}

/** Refuses subscriptions of one key, whose client can poll. */
const useNoSubscriptions = {
  onSubscribe({ args: { contextValue } }) {
    const { viewer } = contextValue.gateway
    if (viewer.keyName === 'reports') throw new Error(`No subscriptions for ${viewer.keyName}`)
  },
}

const { HIVE_URL, HIVE_TOKEN } = process.env

export default [
  // Reports which fields clients use to a Hive of your own.
  useHive({
    token: HIVE_TOKEN,
    selfHosting: {
      graphqlEndpoint: `${HIVE_URL}/graphql`,
      applicationUrl: HIVE_URL,
      usageEndpoint: `${HIVE_URL}/usage`,
    },
    usage: true,
  }),
  useCookies(),
  useSameGateway,
  useNoSubscriptions,
]
