/** The scope that a description of schema.graphql names: `… Needs the scope \`users:read\`.` */
export function scopeIn(description: string | null | undefined): string | undefined {
  return /Needs the scope `([\w:]+)`/.exec(description ?? '')?.[1]
}
