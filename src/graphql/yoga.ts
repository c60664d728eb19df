import { type DocumentNode, type ExecutionResult, getOperationAST, NoSchemaIntrospectionCustomRule } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import type { Context, Logger } from '../context.ts'
import { isErrorCode } from '../errors.ts'
import type { Admitted, Applicant } from '../limits/admission.ts'
import { checkDocumentBounds } from './bounded-document.ts'
import { toCallerError } from './caller-error.ts'
import { type Operation, type Subscriber, subscribeToOperation } from './execute.ts'
import { maxAliasesRule } from './max-aliases-rule.ts'
import { maxDepthRule } from './max-depth-rule.ts'
import { maxFieldsRule } from './max-fields-rule.ts'
import type { GraphQLParams } from './params.ts'
import { schema } from './schema.ts'
import { withCost } from './with-cost.ts'
import { withoutNames } from './without-names.ts'

/** What a request to /graphql brings with it: its parameters, read already, and the context to execute it on. */
export interface YogaInput {
  readonly params: GraphQLParams
  readonly gateway: Context
  readonly subscriber: Omit<Subscriber, 'spend'>
  /** Lets a valid operation in before it runs. Rejects when it may not. */
  readonly admit: (applicant: Applicant) => Promise<Admitted>
  /** Executes a query or a mutation. Rejects when it may not be executed now. */
  readonly execute: (operation: Operation) => Promise<ExecutionResult>
  /** Told of the operation before it runs: it is valid. */
  readonly onOperation: (document: DocumentNode, name: string | undefined) => void
}

/**
 * GraphQL over HTTP: content negotiation, validation and its cache, status codes, the rule against mutations by GET.
 * Reading the request is done before, and executing goes through the door that the REST routes use.
 */
export function createYogaServer(log: Logger, { introspection }: { readonly introspection: boolean }) {
  return createYoga<YogaInput>({
    schema,
    graphqlEndpoint: '/graphql',
    plugins: [
      useReadParams,
      useBoundedDocuments,
      useBoundedDepth,
      ...(introspection ? [] : [useNoIntrospection]),
      useOneDoor,
      useOneCode,
    ],
    maskedErrors: { maskError: (error) => toCallerError(error, isAbort(error) ? silent : log) },
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    logging: false,
  })
}

/** What Yoga throws when the client has gone: there is nobody to answer, and nothing to mend. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

const silent: Logger = { error: () => undefined, warn: () => undefined }

const useReadParams: Plugin<object, YogaInput> = {
  onRequestParse({ serverContext, setRequestParser }) {
    setRequestParser(() => serverContext.params)
  },
}

const useBoundedDocuments: Plugin<YogaInput> = {
  onParse({ params, parseFn, setParseFn }) {
    setParseFn((source, options) => {
      checkDocumentBounds(typeof params.source === 'string' ? params.source : params.source.body)
      return parseFn(source, options)
    })
  },
}

const useBoundedDepth: Plugin<YogaInput> = {
  onValidate({ addValidationRule }) {
    addValidationRule(maxDepthRule)
    addValidationRule(maxAliasesRule)
    addValidationRule(maxFieldsRule)
  },
}

const useNoIntrospection: Plugin<object, YogaInput> = {
  onValidate({ addValidationRule }) {
    addValidationRule(NoSchemaIntrospectionCustomRule)
  },
  onResultProcess({ result, serverContext, setResult }) {
    if ('errors' in result) setResult(withoutNames(result, serverContext.params))
  },
}

const useOneDoor: Plugin<YogaInput> = {
  onExecute({ setExecuteFn, args }) {
    const { gateway, admit, execute, onOperation } = args.contextValue
    onOperation(args.document, getOperationAST(args.document, args.operationName)?.name?.value)
    setExecuteFn(async ({ document, operationName, variableValues }) => {
      const applicant: Applicant = { document, operationName, variables: variableValues }
      const admitted = await admit(applicant)
      const result = await execute({ ...applicant, context: gateway })
      return withCost(asRequestError(result), applicant, admitted)
    })
  },
  onSubscribe({ setSubscribeFn, args }) {
    const { gateway, subscriber, admit, onOperation } = args.contextValue
    onOperation(args.document, getOperationAST(args.document, args.operationName)?.name?.value)
    setSubscribeFn(async ({ document, operationName, variableValues }) => {
      const applicant: Applicant = { document, operationName, variables: variableValues }
      const { spend } = await admit(applicant)
      return subscribeToOperation({ ...applicant, context: gateway }, { ...subscriber, spend })
    })
  },
}

/** Yoga gives a result without data the status that its errors say; `spec`: but for `application/json`. */
function asRequestError(result: ExecutionResult): ExecutionResult {
  if ('data' in result) return result
  for (const { extensions } of result.errors ?? []) extensions['http'] = { spec: true, status: 400 }
  return result
}

/** Yoga has codes of its own for what it refuses. A caller should have to know one list. */
const useOneCode: Plugin<object, YogaInput> = {
  onResultProcess({ result }) {
    for (const { extensions } of 'errors' in result ? (result.errors ?? []) : []) {
      if (!isErrorCode(extensions['code'])) extensions['code'] = 'BAD_USER_INPUT'
    }
  },
}
