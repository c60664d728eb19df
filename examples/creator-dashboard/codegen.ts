import type { CodegenConfig } from '@graphql-codegen/cli'
import { addTypenameSelectionDocumentTransform } from '@graphql-codegen/client-preset'

const config: CodegenConfig = {
  schema: '../../schema.graphql',
  documents: ['src/**/*.graphql', 'server/*.graphql'],
  generates: {
    'src/__generated__/': {
      preset: 'client',
      presetConfig: {
        fragmentMasking: false,
        // Writes persisted-documents.json for the gateway, and the ids of the operations for the page.
        persistedDocuments: { mode: 'embedHashInDocument', hashAlgorithm: 'sha256' },
      },
      // The cache of urql finds the results that a mutation changes by `__typename`.
      documentTransforms: [addTypenameSelectionDocumentTransform],
      config: {
        enumsAsTypes: true,
        useTypeImports: true,
        strictScalars: true,
        scalars: {
          Date: 'string',
          DateTime: 'string',
          JSONObject: 'Record<string, unknown>',
          JSONScalar: 'string | number | boolean',
          SafeInt: 'number',
        },
      },
    },
  },
}

export default config
