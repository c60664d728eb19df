import { parseArgs } from 'node:util'

/**
 * Reads the options of a benchmark from the command line. With `--help` it prints the usage and exits.
 *
 * @param {string} usage
 * @param {Record<string, string | false | undefined>} defaults the value of each option that is not given; `false` for
 *   one without a value
 * @param {boolean} [allowPositionals] whether there may be arguments that belong to no option, which it returns as
 *   `positionals`
 */
export function readOptions(usage, defaults, allowPositionals = false) {
  const options = Object.entries(defaults).map(([name, byDefault]) => [
    name,
    byDefault === false ? { type: 'boolean', default: false } : { type: 'string', default: byDefault },
  ])
  const { values, positionals } = parseArgs({
    allowPositionals,
    options: { ...Object.fromEntries(options), help: { type: 'boolean' } },
  })
  if (values.help) {
    process.stdout.write(usage)
    process.exit(0)
  }
  return { ...values, positionals }
}
