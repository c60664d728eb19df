import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'

const folder = path.join(import.meta.dirname, 'files')

/** The packages that the modules import, by the name under which they do. */
const packages = ['preact', 'preact/hooks', 'htm']

/** A module that browsers load: the name under which others import it, and its JavaScript. */
export type Module = readonly [name: string, code: string]

/**
 * Reads the modules of the console, without their types. A thread removes these, because Node's compiler takes several
 * hundred milliseconds to load. In the thread, Node does not warn that its function for this is experimental.
 */
export async function readModules(): Promise<Module[]> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.ts'))
  const texts = names.map((name) => readFileSync(path.join(folder, name), 'utf8'))
  const worker = new Worker(new URL('./strip-types.worker.ts', import.meta.url), {
    workerData: texts,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  const [codes]: string[][] = await once(worker, 'message')
  return packages
    .map((name): Module => [name, readFileSync(new URL(import.meta.resolve(name)), 'utf8')])
    .concat(names.map((name, at): Module => [name, codes?.[at] ?? '']))
}

export const readStyle = () => readFileSync(path.join(folder, 'console.css'), 'utf8')
