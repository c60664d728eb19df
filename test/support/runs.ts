/** How often a property is tried: all times by `npm run test:all`, a third of them, or another part, by `npm test`. */
export const runs = (times: number, part = 3): number => (process.env['TEST_ALL'] ? times : Math.ceil(times / part))
