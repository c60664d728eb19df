import { readFileSync } from 'node:fs'
import graphql from '@graphql-eslint/eslint-plugin'
import { parse } from 'graphql'
import { problemsOf } from '../lint/schema-rules.ts'

/** Editors read the file too. The operations of a project have different names. */
const { projects } = JSON.parse(readFileSync('.graphqlrc.json', 'utf8'))
const { schema } = projects.default
const documents = Object.values(projects).flatMap((project) => project.documents)

/** The rules of tools/lint/schema-rules.ts, which also runs in npm test. */
const schemaRules = {
  rules: {
    sweep: {
      create: (context) => ({
        Document(node) {
          for (const message of problemsOf(parse(context.sourceCode.text))) context.report({ node, message })
        },
      }),
    },
  },
}

const shared = {
  plugins: { '@graphql-eslint': graphql, schema: schemaRules },
  languageOptions: {
    parser: graphql.parser,
    parserOptions: { graphQLConfig: { projects } },
  },
}

export default [
  {
    ...shared,
    files: [schema],
    rules: {
      'schema/sweep': 'error',
      ...graphql.configs['flat/schema-relay'].rules,
      // Short lists, such as a user's accounts and the errors of a mutation, are no connections, and connections also
      // have `nodes`. An event is found by its place in the log, and is no `Node`.
      '@graphql-eslint/relay-edge-types': ['error', { listTypeCanWrapOnlyEdgeType: false, shouldImplementNode: false }],
    },
  },
  {
    ...shared,
    files: documents,
    rules: {
      ...graphql.configs['flat/operations-recommended'].rules,
      '@graphql-eslint/naming-convention': [
        'error',
        {
          VariableDefinition: 'camelCase',
          // `Get` is allowed: the log, the metrics and OpenAPI have called the operations of REST GetUser, GetProfiles
          // and GetJob.
          OperationDefinition: { style: 'PascalCase', forbiddenSuffixes: ['Query', 'Mutation', 'Subscription'] },
          FragmentDefinition: { style: 'PascalCase', forbiddenSuffixes: ['Fragment'] },
        },
      ],
    },
  },
]
