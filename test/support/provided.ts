// Apart from template.ts, which the tests of packages cannot import: the types of their Prisma Client are others.

/** The templates of a run: tests copy them, which takes less time than migrating an empty database. */
export interface Template {
  /** The folder of the run, which is removed at its end. */
  readonly folder: string
  /** A migrated data folder of the gateway. */
  readonly dataDir: string
  /** A dump of that folder's database, for PGlite in memory. */
  readonly dumpFile: string
  /** The name of a migrated database on the PostgreSQL server, if the suite runs on one. */
  readonly postgresql: string | undefined
}

declare module 'vitest' {
  export interface ProvidedContext {
    template: Template
  }
}
