/** Rows of Prisma Client as operations read them: times are texts, and dates have no time. */
export const withTimeTexts = (rows: readonly object[]): object[] =>
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([field, value]: [string, unknown]) => {
        const text = value instanceof Date ? value.toJSON() : value
        return [field, field === 'dateOfBirth' ? ((text as string | null)?.slice(0, 10) ?? null) : text]
      }),
    ),
  )
