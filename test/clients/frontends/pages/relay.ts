import type { ClientOptions } from '@fusion-gateway/client'
import { createRelayEnvironment } from '@fusion-gateway/client/relay'
import {
  type ConcreteRequest,
  createOperationDescriptor,
  type GraphQLTaggedNode,
  requestSubscription,
  type Snapshot,
} from 'relay-runtime'
import type { DocumentName } from '../documents.ts'
import { endCursorOf, type Library } from '../page.ts'

export { startPage } from '../page.ts'

/** Without React: `watch` does what `useLazyLoadQuery` does, with the policy `store-or-network`. */
export function connectWith(artifacts: Readonly<Record<DocumentName, ConcreteRequest>>) {
  return (options: ClientOptions): Library => {
    const environment = createRelayEnvironment(options)
    const describe = (document: DocumentName, variables: object) =>
      createOperationDescriptor(artifacts[document], { ...variables })
    return {
      watch(document, variables, show) {
        let shown: Caught | undefined
        const read = ({ data, isMissingData, fieldErrors }: Snapshot & WithFieldErrors) => {
          shown = catchErrors(data)
          const errors = fieldErrors?.filter(({ handled }) => !handled).map(({ error }) => error) ?? []
          if (!isMissingData) show({ data: shown.value, ...(errors.length > 0 && { error: { errors } }) })
        }
        const open = (next: object) => {
          const operation = describe(document, next)
          const snapshot = environment.lookup(operation.fragment)
          const retained = environment.retain(operation)
          const subscription = environment.subscribe(snapshot, read)
          const isKnown = environment.check(operation).status === 'available'
          if (isKnown) read(snapshot)
          // As with the policy `store-and-network`.
          const request =
            isKnown && !document.startsWith('Live')
              ? undefined
              : environment.execute({ operation }).subscribe({ error: (error: unknown) => show({ error }) })
          return () => {
            request?.unsubscribe()
            subscription.dispose()
            retained.dispose()
          }
        }
        let hide = open(variables)
        return {
          change(next) {
            hide()
            hide = open(next)
          },
          more: async () =>
            environment
              .execute({ operation: describe(document, { ...variables, after: endCursorOf(shown?.value) }) })
              .toPromise(),
          withheld: (path) => shown?.codes.get(path),
          hide: () => hide(),
        }
      },
      async mutate(document, variables, action, optimisticResponse) {
        const operation = createOperationDescriptor(artifacts[document], { ...variables }, { metadata: { action } })
        const result = await environment
          .executeMutation({ operation, ...(optimisticResponse && { optimisticResponse }) })
          .toPromise()
        return result as { readonly data?: unknown }
      },
      follow(document, variables, show) {
        requestSubscription(environment, {
          subscription: artifacts[document] as GraphQLTaggedNode,
          variables,
          onNext: (data) => show({ data }),
          onError: (error) => show({ error }),
        })
      },
    }
  }
}

/** Errors of fields that are not read by `@catch`, as hooks throw them with `@throwOnFieldError`. */
interface WithFieldErrors {
  readonly fieldErrors?:
    | readonly { readonly handled?: boolean; readonly error: { readonly extensions?: object } }[]
    | null
}

interface Caught {
  readonly value: unknown
  /** The codes of the errors, by the paths of their fields. */
  readonly codes: ReadonlyMap<string, string>
}

/** The values of fields with `@catch(to: RESULT)`, and null for those that failed. */
function catchErrors(data: unknown): Caught {
  const codes = new Map<string, string>()
  function visit(value: unknown, path: readonly string[]): unknown {
    if (Array.isArray(value)) return value.map((each) => visit(each, path))
    if (typeof value !== 'object' || value === null) return value
    if ('ok' in value) {
      const { ok, errors = [], value: known } = value as Result
      if (ok) return visit(known, path)
      codes.set(path.join('.'), String(errors[0]?.extensions?.code))
      return null
    }
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, visit(each, [...path, name])]))
  }
  return { value: visit(data, []), codes }
}

interface Result {
  readonly ok: boolean
  readonly value?: unknown
  readonly errors?: readonly { readonly extensions?: { readonly code?: string } }[]
}
