import type { DataModel, Model } from '../data-model.ts'
import type { Parameter } from '../statement.ts'

/** Who owns the rows to read: a tenant, or one of its users. */
export interface Owner {
  readonly tenantAppId: string
  /** With it, only this user and what belongs to the user is read. */
  readonly userId?: string | undefined
}

/** The condition that every statement has on the rows that it reads. */
export interface Ownership {
  /** The first parameters of the statement. */
  readonly parameters: readonly Parameter[]
  /** The condition on the rows of a model. */
  conditionOn(model: Model): string
}

/**
 * Creates the function that returns the condition for an owner. Foreign keys say what belongs to a user: an account by its
 * `user_id`, a profile by its account. A row without such a foreign key, such as a job, belongs to no user.
 */
export function createOwnerships(model: DataModel): (owner: Owner) => Ownership {
  const ofTenant = () => '"tenant_app_id" = $1'

  function ofUser(of: Model): string {
    const tenant = ofTenant()
    if (of === 'User') return `${tenant} AND "id" = $2`
    const parts = model(of).parents.flatMap(({ model: parent, field }) => {
      if (!isOfUser(parent)) return []
      const { column } = model(of).columnOf(field)
      // An array makes PostgreSQL use the index on the foreign key.
      return parent === 'User'
        ? [`"${column}" = $2`]
        : [`"${column}" = ANY (ARRAY(SELECT "id" FROM "${model(parent).name}" WHERE ${ofUser(parent)}))`]
    })
    return [tenant, ...(parts.length > 0 ? parts : ['$2::text IS NULL'])].join(' AND ')
  }

  function isOfUser(of: Model): boolean {
    return of === 'User' || model(of).parents.some((parent) => isOfUser(parent.model))
  }

  return ({ tenantAppId, userId }) =>
    userId === undefined
      ? { parameters: [tenantAppId], conditionOn: ofTenant }
      : { parameters: [tenantAppId, userId], conditionOn: ofUser }
}
