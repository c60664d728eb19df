import { useEffect, useState } from 'react'
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
  /** Whether no change can follow. */
  readonly isFinal?: (data: Data) => boolean
  /** The variables with which a stream continues. Without it, a stream begins with the present state. */
  readonly resume?: (data: Data) => Variables
}

const reconnectMilliseconds = 2_000

/**
 * Subscribes while the component is shown. urql does not open a stream again after it has ended: the gateway completes it when it
 * stops, and a connection can break. A new stream begins with the present state, or after the last event, so no change is missed.
 */
export function useStream<Sent, Variables extends AnyVariables, Data>(
  document: TypedDocumentNode<Sent, Variables>,
  { variables, merge, isFinal, resume }: Options<Sent, Variables, Data>,
): Stream<Data> {
  const client = useClient()
  const [stream, setStream] = useState<Stream<Data>>({ isLive: true })
  useEffect(() => {
    let stop = () => {}
    let data: Data | undefined
    function connect(first: Variables) {
      const present = data !== undefined && resume ? resume(data) : first
      const { unsubscribe } = client.subscription(document, present).subscribe(({ data: sent, error, hasNext }) => {
        if (sent) data = merge(sent, data)
        setStream((before) => ({ data: data ?? before.data, error, isLive: hasNext }))
        if (hasNext || (data !== undefined && isFinal?.(data))) return
        const timer = setTimeout(() => connect(first), reconnectMilliseconds)
        stop = () => clearTimeout(timer)
      })
      stop = unsubscribe
    }
    if (variables) connect(variables)
    return () => stop()
  }, [client, document, variables, merge, isFinal, resume])
  return stream
}
