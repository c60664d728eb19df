import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Reads the most resident memory that a running process has had so far, in MiB. */
export function peakMemory({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1_024)
}
