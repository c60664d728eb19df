/** The ids of the seeded rows, which run.js passes to each peer. */
export const seeded = JSON.parse(process.env.SEEDED ?? '{}')
