import type { Send } from '@fusion-gateway/client/fetch'
import { createSendAs } from '@fusion-gateway/client/server'

const url = process.env['GATEWAY_URL'] ?? 'https://gateway.example.com/graphql'
const apiKey = process.env['GATEWAY_KEY'] ?? ''

/** What a server component of Next.js, or a `loader` of React Router, reads with. Call it for each request. */
export const sendFor = (session: { readonly userId: string }): Send =>
  createSendAs({ url, apiKey, clientName: 'creator-site' }, { userId: session.userId })
