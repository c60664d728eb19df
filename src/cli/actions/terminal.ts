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

/** Shows a progress bar on stderr if that is a terminal. In a pipe it would be noise. */
export function showProgress(stderr: Output, title: string, total: number) {
  const isShown = stderr.isTTY && total > 0
  let shown = -1
  return {
    update(done: number): void {
      const percent = Math.min(Math.floor((done / total) * 100), 100)
      if (!isShown || percent === shown) return
      shown = percent
      const filled = Math.round((percent / 100) * barWidth)
      const bar = styleText('green', '█'.repeat(filled), { stream: stderr }) + '░'.repeat(barWidth - filled)
      stderr.write(`\r${title} ${bar} ${percent} %`)
    },
    end: () => void (isShown && stderr.write('\n')),
  }
}
