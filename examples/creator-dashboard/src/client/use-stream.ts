import { createContext, use, useEffect, useState } from 'react'
import { type AnyVariables, type CombinedError, type TypedDocumentNode, useClient } from 'urql'

export interface Stream<Data> {
  readonly data?: Data | undefined
  /** Whether changes arrive. */
  readonly isLive: boolean
  readonly error?: CombinedError | undefined
}

interface Options<Sent, Variables, Data> {
  /** Another object starts a new stream. The stream waits while it is undefined. */
  readonly variables: Variables | undefined
  /** Adds what the stream sends to what it sent before. */
  readonly merge: (sent: Sent, before: Data | undefined) => Data
}

/** Whether requests wait for the gateway. */
export const Waiting = createContext(false)

/**
 * Subscribes while the component is shown. When the connection breaks, the client connects again: the stream continues with the present
 * state, or after the last event, so no change is missed.
 */
export function useStream<Sent, Variables extends AnyVariables, Data>(
  document: TypedDocumentNode<Sent, Variables>,
  { variables, merge }: Options<Sent, Variables, Data>,
): Stream<Data> {
  const client = useClient()
  const isWaiting = use(Waiting)
  const [stream, setStream] = useState<Omit<Stream<Data>, 'isLive'>>({})
  useEffect(() => {
    if (!variables) return
    let data: Data | undefined
    return client.subscription(document, variables).subscribe(({ data: sent, error }) => {
      if (sent) data = merge(sent, data)
      setStream((before) => ({ data: data ?? before.data, error }))
    }).unsubscribe
  }, [client, document, variables, merge])
  return { ...stream, isLive: !isWaiting && !stream.error }
}
