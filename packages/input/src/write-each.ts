import { type FieldError, GatewayError, invalidInput } from '@fusion-gateway/base'
import { isPossibleId } from '@fusion-gateway/sql'
import { z } from 'zod'
import { expectedTime, parseInput } from './rules.ts'

/** The result of an input, or why the input was rejected. */
export type Outcome<Result> = Result | GatewayError

/** A row to write. With the time of its last change, it is left as it is if it has changed since. */
interface Target {
  readonly id: string
  readonly updatedAt?: Date | undefined
}

interface Writing<Input, Valid, Result> {
  /** @throws GatewayError BAD_USER_INPUT naming every invalid field; any other error rejects all inputs */
  readonly parse: (input: Input) => Valid
  /** What no two inputs may have in common, by the field that has it. Null and undefined: the input has none. */
  readonly unique?: Readonly<Record<string, (valid: Valid) => string | null | undefined>>
  /** Writes the valid inputs. Returns an outcome for each of them, in their order. */
  readonly write: (valid: readonly Valid[]) => Promise<readonly Outcome<Result>[]>
}

/**
 * Checks inputs one by one, and writes the valid ones together.
 *
 * @returns an outcome for each input, in their order. The second of two inputs that must differ is rejected with
 *   DUPLICATE
 */
export async function writeEach<Input, Valid, Result>(
  inputs: readonly Input[],
  { parse, unique = {}, write }: Writing<Input, Valid, Result>,
): Promise<Outcome<Result>[]> {
  const firstWith = new Map<string, number>()
  const valid: Valid[] = []
  const rejections = inputs.map((input, index): GatewayError | undefined => {
    try {
      const parsed = parse(input)
      const keys = Object.entries(unique).flatMap(([field, read]) => {
        const value = read(parsed)
        return value == null ? [] : [{ field, key: `${field} ${value}` }]
      })
      const repeated = keys.flatMap(({ field, key }): FieldError[] => {
        const other = firstWith.get(key)
        const message = `must differ from inputs.${other}.${field}`
        return other === undefined ? [] : [{ field, code: 'DUPLICATE', message }]
      })
      if (repeated.length > 0) return invalidInput(repeated)
      for (const { key } of keys) firstWith.set(key, index)
      valid.push(parsed)
      return undefined
    } catch (error) {
      if (error instanceof GatewayError && error.fields.length > 0) return error
      throw error
    }
  })
  const written = valid.length > 0 ? (await write(valid)).values() : [].values()
  return rejections.map((rejection) => rejection ?? (written.next().value as Outcome<Result>))
}

/** The same work for one input: `writeOne(updateUsers)` returns the result, or throws why the input was rejected. */
export function writeOne<Context, Input, Result>(
  writeAll: (context: Context, inputs: readonly Input[]) => Promise<readonly Outcome<Result>[]>,
) {
  return async (context: Context, input: Input): Promise<Result> => {
    const [outcome] = await writeAll(context, [input])
    if (outcome instanceof GatewayError) throw outcome
    return outcome as Result
  }
}

const targetRules = z.object({ expectedUpdatedAt: expectedTime })

/** An input that names a row and, maybe, the time of its last change. */
export interface TargetInput {
  readonly id: string
  readonly expectedUpdatedAt?: Date | null | undefined
}

/** What reads the rows of a model: `db.user`. */
interface Rows {
  findMany(args: { where: { id: { in: string[] } }; take: number }): Promise<readonly { readonly id: string }[]>
}

/**
 * The outcome of each input that changes or deletes a row. A row that exists and was not written is not as expected.
 *
 * @param written what was written of each target, in their order; null: nothing
 * @param rows reads the rows of inputs that expect a time
 * @param notFound the rejection of the field `id`, if there is no such row
 */
export async function outcomesOf<Result>(
  targets: readonly Target[],
  written: readonly (Result | null)[],
  rows: Rows,
  notFound: (field: string) => GatewayError,
): Promise<Outcome<Result>[]> {
  const ids = targets.flatMap(({ id, updatedAt }, index) => (updatedAt && !written[index] ? [id] : []))
  const found = ids.length > 0 ? await rows.findMany({ where: { id: { in: ids } }, take: ids.length }) : []
  const current = new Map(found.map((row) => [row.id, row]))
  return targets.map(
    ({ id }, index) => written[index] ?? (current.has(id) ? changedSince(current.get(id)) : notFound('id')),
  )
}

/** The rejection of a write to a row that is not as its client expects. @param current the row as it is now */
export function changedSince(current: unknown): GatewayError {
  const message =
    'is not the time of the last change. Apply the change to the object as it is now, and send its updatedAt'
  return invalidInput([{ field: 'expectedUpdatedAt', code: 'CONFLICT', message }], current)
}

interface Deletion<Deleted> {
  /** Deletes the rows that exist and are as expected, and returns what is known of each. Null: it was not deleted. */
  readonly remove: (targets: readonly Target[]) => Promise<readonly (Deleted | null)[]>
  readonly rows: Rows
  /** The rejection of the field `id` of an input, if there is no such row. */
  readonly notFound: (field: string) => GatewayError
}

/** Returns what is known of each deleted row, or the rejection. */
export function deleteEach<Deleted>(
  inputs: readonly TargetInput[],
  { remove, rows, notFound }: Deletion<Deleted>,
): Promise<Outcome<Deleted>[]> {
  return writeEach(inputs, {
    parse({ id, ...input }): Target {
      const { expectedUpdatedAt } = parseInput(targetRules, input)
      if (!isPossibleId(id)) throw notFound('id')
      return { id, updatedAt: expectedUpdatedAt }
    },
    unique: { id: ({ id }) => id },
    async write(targets) {
      return outcomesOf(targets, await remove(targets), rows, notFound)
    },
  })
}
