import { styleText } from 'node:util'
import type { Output } from '../io.ts'

/**
 * Prints rows as a table on a terminal, and as tab-separated lines elsewhere.
 *
 * @param header of the table, printed only on a terminal. Empty for the next part of a table
 */
export function printTable(stdout: Output, header: readonly string[], rows: readonly (readonly string[])[]): void {
  if (!stdout.isTTY) {
    for (const row of rows) stdout.write(`${row.join('\t')}\n`)
    return
  }
  const lines = header.length > 0 ? [header, ...rows] : rows
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((row) => row[column]?.length ?? 0)))
  for (const row of lines) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0))
    stdout.write(`${cells.join('  ').trimEnd()}\n`)
  }
}

const barWidth = 40

/** Shows a progress bar on stderr if that is a terminal. In a pipe it would be noise. Ours, not cli-progress: 15 lines
 * here, and six packages there. */
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
