import { isPossibleId } from '../db/storable.ts'
import { type FieldError, GatewayError, invalidInput } from '../errors.ts'

/** The result of an input, or why the input was rejected. */
export type Outcome<Result> = Result | GatewayError

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

/**
 * @param remove deletes the rows that exist, and returns what is known of each by its id
 * @param notFound the rejection of the field `id` of an input, if there is no such row
 * @returns what is known of each deleted row, or the rejection
 */
export function deleteEach<Deleted>(
  inputs: readonly { readonly id: string }[],
  remove: (ids: readonly string[]) => Promise<ReadonlyMap<string, Deleted>>,
  notFound: (field: string) => GatewayError,
): Promise<Outcome<Deleted>[]> {
  return writeEach(inputs, {
    parse({ id }) {
      if (!isPossibleId(id)) throw notFound('id')
      return id
    },
    unique: { id: (id) => id },
    async write(ids) {
      const deleted = await remove(ids)
      return ids.map((id) => deleted.get(id) ?? notFound('id'))
    },
  })
}
