/** How long other workers wait by default for a worker that has died. */
export const defaultLeaseSeconds = 30
