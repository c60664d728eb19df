import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { afterAll, inject } from 'vitest'
import { cpuSeconds } from './measure.ts'

// After each file: measure.ts learns what it took, no process that it started runs on, and no folder that it created is
// left. Both are removed, so that the next file is not blamed for them. Databases on a server are counted at the end of
// the run (template.ts).

const folder = path.join(inject('template').folder, `worker-${process.env['VITEST_POOL_ID']}`)
mkdirSync(folder, { recursive: true })
process.env['TMPDIR'] = folder
if (process.env['TEST_WARM']) await import('./warm.ts')
const begun = cpuSeconds()

// Vitest runs it after the hooks of the file.
// biome-ignore lint/correctness/noEmptyPattern: Vitest wants a pattern here
afterAll(({}, file) => {
  const workerCpuSeconds = cpuSeconds()
  file.meta.measured = { cpuSeconds: workerCpuSeconds - begun, worker: process.pid, workerCpuSeconds }
  const processes = childrenOf(process.pid)
  for (const { pid } of processes) process.kill(pid, 'SIGKILL')
  const files = readdirSync(folder)
  for (const name of files) rmSync(path.join(folder, name), { recursive: true, force: true })
  const left = [...processes.map(({ command }) => command), ...files]
  if (left.length > 0) throw new Error(`The file leaves behind: ${left.join(', ')}`)
})

/** The processes whose parent is a process, as Linux knows them. Elsewhere there are none. */
function childrenOf(parent: number): { readonly pid: number; readonly command: string }[] {
  try {
    const tasks = readdirSync(`/proc/${parent}/task`)
    const pids = tasks.flatMap((task) => readFileSync(`/proc/${parent}/task/${task}/children`, 'utf8').split(' '))
    const children = pids.filter(Boolean).map((pid) => ({
      pid: Number(pid),
      command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '),
    }))
    // A process that has ended has no command line.
    return children.filter(({ command }) => command !== '')
  } catch {
    return []
  }
}
