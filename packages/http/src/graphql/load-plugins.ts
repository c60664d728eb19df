import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { OperatorError } from '@fusion-gateway/base'
import type { Plugin } from 'graphql-yoga'

/**
 * Loads plugins of GraphQL Yoga: what each file exports as its default, one plugin or an array of them.
 *
 * @param files JavaScript or TypeScript, relative to the working directory
 * @throws OperatorError if a file cannot be loaded, or exports something else
 */
export async function loadPlugins(files: readonly string[]): Promise<Plugin[]> {
  const plugins: Plugin[] = []
  for (const file of files) {
    const exported = [await importDefault(file)].flat()
    if (exported.length === 0 || !exported.every(isPlugin)) {
      throw new OperatorError(
        `PLUGINS: ${file} must export as its default a plugin of GraphQL Yoga, which is an object with hooks such as onExecute, or an array of plugins.`,
      )
    }
    plugins.push(...exported)
  }
  return plugins
}

async function importDefault(file: string): Promise<unknown> {
  try {
    return ((await import(pathToFileURL(path.resolve(file)).href)) as { readonly default?: unknown }).default
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new OperatorError(`PLUGINS: ${file} cannot be loaded: ${reason}`, { cause: error })
  }
}

/** Whether a value has a hook. A typing error in the name of the only one would otherwise go unnoticed. */
function isPlugin(value: unknown): value is Plugin {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.entries(value).some(([name, hook]) => typeof hook === 'function' && /^on[A-Z]/.test(name))
  )
}
