import { useEffect, useReducer, useState } from 'preact/hooks'
import { run } from './client.ts'
import type { Document } from './document.ts'
import { type Failure, failureOf } from './failure.ts'
import { follow, type LiveState } from './live.ts'
import { isLive } from './operations.ts'

/** The data of a query, or why there are none; neither until the first result. */
export interface QueryState<Data> {
  readonly data?: Data | undefined
  readonly failure?: Failure | undefined
  readonly live: LiveState
  /** Runs the query again. */
  readonly reload: () => void
}

/**
 * Reads a query while the component is shown: a live one again and again, another one once, and again if the version
 * changes. The last data stays until the next one, unless the variables differ.
 *
 * @param query nothing is read without it
 */
export function useQuery<Data, Variables>(
  query: Document<Data, Variables> | false,
  variables: NoInfer<Variables>,
  version?: unknown,
): QueryState<Data> {
  type Result = { readonly key: string; readonly data?: Data | undefined; readonly failure?: Failure | undefined }
  const key = JSON.stringify([query, variables])
  const [result, setResult] = useState<Result>({ key })
  const [live, setLive] = useState<LiveState>('off')
  const [attempt, reload] = useReducer<number, void>((count) => count + 1, 0)
  useEffect(() => {
    if (!query) return
    const onData = (data: Data) => setResult({ key, data })
    const onFailure = (failure: Failure) =>
      setResult((last) => ({ key, data: last.key === key ? last.data : undefined, failure }))
    if (isLive(query)) return follow(query, variables, { onData, onFailure, onState: setLive })
    const stopping = new AbortController()
    const { signal } = stopping
    run(query, variables, { signal }).then(
      (data) => signal.aborted || onData(data),
      (error: unknown) => signal.aborted || onFailure(failureOf(error)),
    )
    return () => stopping.abort()
  }, [key, version, attempt])
  return { ...(result.key === key && result), live, reload: () => reload() }
}
