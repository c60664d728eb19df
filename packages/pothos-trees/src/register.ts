/**
 * What an application says about its schema, by declaration merging: `types`, which is
 * `PothosSchemaTypes.ExtendDefaultTypes` of those of its builder, and `context`. README.md shows it.
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications add to it.
export interface Register {}
