import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

/** CPU that a process has used so far, in milliseconds; NaN where there is no /proc. */
export function cpuOf(pid) {
  try {
    const [, rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const fields = rest.split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return Number.NaN
  }
}

/** CPU that all processes of a PostgreSQL server on this machine have used so far, in milliseconds. */
export function cpuOfPostgresql() {
  let sum = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('postgres')) sum += cpuOf(pid)
    } catch {
      // It has ended meanwhile.
    }
  }
  return sum
}

/** Forgets the peak, so that the next reading is of what comes. */
export function resetPeakMemory(pid) {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // Then the peak is that of the whole run.
  }
}

/** The most memory that a process has had, in MiB. */
export function peakMemory(pid) {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  } catch {
    return Number.NaN
  }
}
