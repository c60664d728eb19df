import type { FieldErrorCode } from '@fusion-gateway/base'
import type { DataModel } from '@fusion-gateway/prisma-trees'
import type { CursorReader } from './lists/cursor.ts'

export interface TreesOptions {
  readonly model: DataModel
  /** Whether all fields of `Query` are nullable, so that the error of one does not erase the others. */
  readonly hasNullableQuery?: boolean
  /** Whether a field is deprecated by `deprecation` alone, which has its days, and not by `deprecationReason`. */
  readonly hasDatedDeprecations?: boolean
  /** Reads cursors of a further format, such as an earlier one. */
  readonly readCursor?: CursorReader
  /** What values of `UserErrorCode` mean in this schema, if their descriptions shall say more. */
  readonly userErrorCodes?: Partial<Readonly<Record<FieldErrorCode, string>>>
}

export function dataModelOf({ options }: { readonly options: { readonly trees: TreesOptions } }): DataModel {
  return options.trees.model
}
