import type { Parameter } from '@fusion-gateway/sql'
import type { DataModel, Model } from '../data-model.ts'

/** The owner of the rows to read: such as a tenant, or one of the rows of a tenant, such as a user. */
export interface Owner {
  /** What the rows have in the field of the owner: the id of a tenant. */
  readonly id: string
  /** If given, only this row and the rows that belong to it are read. */
  readonly within?: { readonly model: Model; readonly id: string } | undefined
}

/** The condition that every statement has on the rows that it reads. */
export interface Ownership {
  readonly parameters: readonly Parameter[]
  conditionOn(model: Model): string
}

/**
 * Returns a function that returns the condition for an owner. It follows foreign keys: an account belongs to a user
 * by its `user_id`, and a profile by its account. A row without such a foreign key, such as a job, belongs to no user.
 */
export function createOwnerships(model: DataModel): (owner: Owner) => Ownership {
  const conditionOn = (modelName: Model) => `"${model(modelName).owner}" = $1`

  /** @param path the models from which foreign keys have led here. They can lead back: from a comment to a comment */
  function conditionWithin(root: Model, modelName: Model, path: readonly Model[] = []): string {
    if (modelName === root) return `${conditionOn(modelName)} AND "id" = $2`
    const along = [...path, modelName]
    const parts = model(modelName).parents.flatMap(({ model: parent, field }) => {
      if (!belongsTo(root, parent, along)) return []
      const { column } = model(modelName).columnOf(field)
      // An array makes PostgreSQL use the index on the foreign key.
      return parent === root
        ? [`"${column}" = $2`]
        : [
            `"${column}" = ANY (ARRAY(SELECT "id" FROM "${model(parent).name}" WHERE ${conditionWithin(root, parent, along)}))`,
          ]
    })
    return [conditionOn(modelName), ...(parts.length > 0 ? parts : ['$2::text IS NULL'])].join(' AND ')
  }

  function belongsTo(root: Model, modelName: Model, path: readonly Model[]): boolean {
    if (path.includes(modelName)) return false
    return (
      modelName === root ||
      model(modelName).parents.some((parent) => belongsTo(root, parent.model, [...path, modelName]))
    )
  }

  return ({ id, within }) =>
    within === undefined
      ? { parameters: [id], conditionOn }
      : { parameters: [id, within.id], conditionOn: (of) => conditionWithin(within.model, of) }
}
