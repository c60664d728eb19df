/** What the run has put into the database, handed to each peer's process. */
export const seeded = JSON.parse(process.env.SEEDED ?? '{}')
