// Conditions of the statements that start work of all tenants.

/** The condition that a tenant is suspended: it keeps its data, and none of its work starts. */
export const isSuspended = (tenant: string) =>
  `EXISTS (SELECT FROM tenant_app WHERE tenant_app.id = ${tenant} AND suspended_at IS NOT NULL)`

/** The tenants that are suspended, for NOT IN: PostgreSQL reads them once, and not for each tenant. */
export const suspendedTenants = '(SELECT id FROM tenant_app WHERE suspended_at IS NOT NULL)'
