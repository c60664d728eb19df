/**
 * What an application says about its generated Prisma Client, by declaration merging: `client` is its type, `models` is
 * `Prisma.TypeMap['model']`, and `owner` the name of the field that holds the owner of a row. README.md shows it.
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications add to it.
export interface Register {}
