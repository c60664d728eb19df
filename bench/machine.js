import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

/** The CPU time of a process so far, in milliseconds; NaN on systems without /proc. */
export function cpuOf(pid) {
  try {
    const [, rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const fields = rest.split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return Number.NaN
  }
}

/** The CPU time of all PostgreSQL processes of this machine so far, in milliseconds. */
export function cpuOfPostgresql() {
  let sum = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('postgres')) sum += cpuOf(pid)
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
