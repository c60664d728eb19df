/**
 * Rows as a table for people on a terminal, or as tab-separated lines for programs elsewhere.
 *
 * @param rows the first is the header, which programs do not get
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
