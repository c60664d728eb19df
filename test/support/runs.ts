/** How often a property is tried: all times by `npm run test:all`, a third of them by `npm test`. */
export const runs = (times: number): number => (process.env['TEST_ALL'] ? times : Math.ceil(times / 3))
