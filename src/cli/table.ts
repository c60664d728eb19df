/**
 * Prints rows as a table on a terminal, and as tab-separated lines elsewhere.
 *
 * @param rows the first one is the header, which is printed only on a terminal
 */
export function printTable(rows: readonly (readonly string[])[], out: NodeJS.WriteStream = process.stdout): void {
  if (!out.isTTY) {
    for (const row of rows.slice(1)) out.write(`${row.join('\t')}\n`)
    return
  }
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of rows)
    out.write(
      `${row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    )
}
