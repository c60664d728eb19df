import { styleText } from 'node:util'
import type { Output } from '../io.ts'

/**
 * Prints rows as a table on a terminal, and as tab-separated lines elsewhere. A missing value is `-`.
 *
 * @param header of the table, printed only on a terminal. Empty for a row without one
 */
export function printTable(stdout: Output, header: readonly string[], rows: readonly (readonly unknown[])[]): void {
  const texts = rows.map((row) => row.map(toText))
  if (!stdout.isTTY) {
    for (const row of texts) stdout.write(`${row.join('\t')}\n`)
    return
  }
  const lines = header.length > 0 ? [header, ...texts] : texts
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((row) => row[column]?.length ?? 0)))
  for (const row of lines) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0))
    stdout.write(`${cells.join('  ').trimEnd()}\n`)
  }
}

function toText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value ?? '-')
}

/** Prints rows as the option --json does: a JSON object per line. */
export function printJson(stdout: Output, rows: readonly object[]): void {
  for (const row of rows) stdout.write(`${JSON.stringify(row)}\n`)
}

const barWidth = 40

/**
 * Shows a progress bar on stderr if that is a terminal: how much is done, how much of it per second, and how long the
 * rest takes at that rate. In a pipe it would be noise.
 *
 * @param unit of the total: `profiles`. Without it, no rate is shown
 */
export function showProgress(stderr: Output, title: string, total: number, unit?: string) {
  const isShown = stderr.isTTY && total > 0
  const startedAt = performance.now()
  let shown = ''
  return {
    update(done: number): void {
      if (!isShown) return
      const part = Math.min(done / total, 1)
      const seconds = (performance.now() - startedAt) / 1_000
      const rate = unit === undefined || seconds < 1 ? '' : ` · ${Math.round(done / seconds)} ${unit}/s`
      // The first second says little about the rest.
      const left = part === 0 || part === 1 || seconds < 1 ? '' : ` · ${durationOf((seconds / part) * (1 - part))} left`
      const state = `${Math.floor(part * 100)} %${rate}${left}`
      if (state === shown) return
      const filled = Math.round(part * barWidth)
      const bar = styleText('green', '█'.repeat(filled), { stream: stderr }) + '░'.repeat(barWidth - filled)
      stderr.write(`\r${title} ${bar} ${state.padEnd(shown.length)}`)
      shown = state
    },
    end: () => void (isShown && stderr.write('\n')),
  }
}

/** `200` ⇒ `4 min` */
function durationOf(seconds: number): string {
  return seconds < 120 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`
}
