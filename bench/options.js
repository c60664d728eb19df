import { parseArgs } from 'node:util'

/**
 * Reads the options of a benchmark from the command line. With `--help` it prints the usage and exits. With `--try` the
 * other options are as small as they can be: the run shows only that everything works.
 *
 * @param {string} usage
 * @param {Record<string, string | false | undefined>} defaults the value of each option that is not given; `false` for
 *   one without a value
 * @param {Record<string, string>} tried their values with `--try`
 * @param {boolean} [allowPositionals] whether there may be arguments that belong to no option, which it returns as
 *   `positionals`
 */
export function readOptions(usage, defaults, tried, allowPositionals = false) {
  const isTried = process.argv.includes('--try')
  const options = Object.entries(defaults).map(([name, byDefault]) => [
    name,
    byDefault === false
      ? { type: 'boolean', default: false }
      : { type: 'string', default: isTried ? (tried[name] ?? byDefault) : byDefault },
  ])
  const { values, positionals } = parseArgs({
    allowPositionals,
    options: { ...Object.fromEntries(options), try: { type: 'boolean', default: false }, help: { type: 'boolean' } },
  })
  if (values.help) {
    process.stdout.write(`${usage}  --try measures nothing: it is the shortest run that does everything once.\n`)
    process.exit(0)
  }
  return { ...values, positionals }
}
