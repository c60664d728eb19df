import type { CodegenConfig } from '@graphql-codegen/cli'
import { addTypenameSelectionDocumentTransform } from '@graphql-codegen/client-preset'

const config: CodegenConfig = {
  schema: '../../schema.graphql',
  documents: ['src/**/*.ts', '!src/__generated__/**'],
  generates: {
    'src/__generated__/': {
      preset: 'client',
      // The caches of clients need `__typename`, and cannot add it to a document that is sent by its hash.
      documentTransforms: [addTypenameSelectionDocumentTransform],
      presetConfig: { persistedDocuments: true },
      config: {
        useTypeImports: true,
        enumsAsTypes: true,
        strictScalars: true,
        scalars: {
          // JSON has no dates: they are text in RFC 3339.
          DateTime: 'string',
          Date: 'string',
          // An integer up to 2^53 − 1.
          SafeInt: 'number',
          JSONObject: '{ [key: string]: unknown }',
          JSONScalar: 'string | number | boolean',
        },
      },
    },
  },
}

export default config
