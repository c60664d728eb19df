/** The columns that a field reads, if they are not the one of its own name. Fields declare them as `extensions: { columns }`. */
export type Columns = readonly string[]
