import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'

/**
 * The CPU time of a process so far, and of its children that have ended, in milliseconds; NaN on systems without /proc.
 */
export function cpuOf(pid) {
  try {
    const [, rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const [user, system, ofChildren, systemOfChildren] = rest.split(' ').slice(11).map(Number)
    return (user + system + ofChildren + systemOfChildren) * 10
  } catch {
    return Number.NaN
  }
}

/**
 * The CPU time of all PostgreSQL processes of this machine so far, in milliseconds. That of a connection which has
 * ended is counted with the main process.
 */
export function cpuOfPostgresql() {
  let sum = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('postgres')) sum += cpuOf(pid) || 0
    } catch {
      // The process has ended.
    }
  }
  return sum
}

/** The memory of a process, in MiB; NaN on systems without /proc. */
export function memoryOf(pid) {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  } catch {
    return Number.NaN
  }
}

/** Resets the peak of a process's memory. */
export function resetPeakMemory(pid) {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // Without permission the peak covers the whole run.
  }
}

/** The peak of a process's memory, in MiB. */
export function peakMemory(pid) {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  } catch {
    return Number.NaN
  }
}

/** A process and its children. */
export function processesOf(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [
    pid,
    ...children
      .split(' ')
      .filter((text) => text !== '')
      .map(Number),
  ]
}

/** The period in which a group of processes may use its CPU time, in microseconds. */
const period = 100_000

/**
 * Puts processes into a cgroup, in which their CPU time can be limited together. Needs root.
 *
 * @returns `limit(cores)` limits it to so many cores, such as 0.5; undefined lifts the limit. `remove()` is called when
 *   the processes have ended
 */
export function createCpuGroup(name, pids) {
  const isVersion2 = existsSync('/sys/fs/cgroup/cgroup.controllers')
  const folder = `/sys/fs/cgroup/${isVersion2 ? '' : 'cpu/'}${name}`
  mkdirSync(folder)
  for (const pid of pids) writeFileSync(`${folder}/cgroup.procs`, String(pid))
  return {
    limit(cores) {
      const quota = cores === undefined ? undefined : Math.round(cores * period)
      if (isVersion2) {
        writeFileSync(`${folder}/cpu.max`, `${quota ?? 'max'} ${period}`)
      } else {
        writeFileSync(`${folder}/cpu.cfs_period_us`, String(period))
        writeFileSync(`${folder}/cpu.cfs_quota_us`, String(quota ?? -1))
      }
    },
    remove: () => rmdirSync(folder),
  }
}
