/**
 * What an application says about its generated Prisma Client, by declaration merging: `client` is its type, and
 * `models` is `Prisma.TypeMap['model']`. README.md shows it.
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications add to it.
export interface Register {}
