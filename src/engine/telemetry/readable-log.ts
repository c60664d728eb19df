import { styleText } from 'node:util'
import { type DestinationStream, pino } from 'pino'

// Ours, not pino-pretty: that is 14 more packages, and loading them adds 64 ms to the start.

/** The fields that the text of a line contains, or that are the same in every line. */
const hidden = new Set('level time pid hostname msg err tenant route operation status durationMs sql'.split(' '))

const colours = { trace: 'gray', debug: 'blue', info: 'green', warn: 'yellow', error: 'red', fatal: 'bgRed' } as const

type Line = Readonly<Record<string, unknown>> & { readonly level: number; readonly time: number }

/**
 * Creates the destination of a log that a person reads: `[12:34:56.789] INFO: answered GET /users 200, 3 ms, 1 SQL
 * {"requestId":"…"}`.
 *
 * @param out where the lines are written
 */
export function createReadableLog(out: { write(text: string): unknown }): DestinationStream {
  return { write: (line) => void out.write(`${toText(JSON.parse(line) as Line)}\n`) }
}

function toText(line: Line): string {
  const level = pino.levels.labels[line.level] ?? 'info'
  const date = new Date(line.time)
  const time = `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`
  const { msg, route, operation, status, durationMs, sql } = line
  const response = status === undefined ? undefined : `${status}, ${durationMs} ms, ${sql} SQL`
  const message = [msg, route, operation, response].filter((part) => part !== undefined).join(' ')
  const rest = Object.entries(line).filter(([name]) => !hidden.has(name))
  const details = rest.length === 0 ? '' : ` ${styleText('gray', JSON.stringify(Object.fromEntries(rest)))}`
  const label = styleText(colours[level as keyof typeof colours] ?? 'green', level.toUpperCase())
  return `[${time}] ${label}: ${styleText('cyan', message)}${details}${errorOf(line['err'])}`
}

/** The stack of an error is on separate lines, and its cause below. */
function errorOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { stack, cause, message, code } = error as { stack?: string; cause?: unknown; message?: string; code?: unknown }
  const text = (stack ?? message ?? '').replaceAll('\n', '\n    ')
  return `\n    ${code === undefined ? '' : `${code}: `}${text}${errorOf(cause)}`
}
