import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Collects the garbage of the start, and gives its memory back to the system. The start fills V8's space for young
 * objects, which grows meanwhile, and would shrink only when the process has been idle for some time.
 */
export function releaseMemory(): void {
  // The one way to collect garbage in a process that was started without the flag. It is reset, because the code in the
  // compile cache belongs to the flags with which it was compiled.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as NonNullable<typeof gc>
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
