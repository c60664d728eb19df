import { readFileSync, writeFileSync } from 'node:fs'
import { environment } from '../src/config.ts'
import { drawing, text } from './chart.js'

const grey = '#6b6b6b'
/** The rows that have a colour: they grow, and the page says what to do. The others are grey. */
const colors = {
  'the statistics': '#c04d00',
  'the exact count': '#0067a3',
  'an import of it': '#00775a',
  'the index user_folded_search_idx': '#a0467c',
}
/** Where PostgreSQL cancels a statement of a request, in milliseconds. */
const limit = environment.shape.DATABASE_STATEMENT_TIMEOUT.parse(undefined)
const gridColor = '#e2e2e2'

/** Draws the table of docs/scaling.md as docs/growth.svg. */
export function writeGrowthChart() {
  const docs = new URL('../docs/', import.meta.url)
  writeFileSync(new URL('growth.svg', docs), drawGrowth(readFileSync(new URL('scaling.md', docs), 'utf8')))
}

/**
 * Draws the table that bench/growth.js prints as SVG, for any number of sizes.
 *
 * @param {string} page Markdown with the table
 * @throws if there is no table, or if a row that has a colour is missing
 */
export function drawGrowth(page) {
  const { sizes, rows } = readTable(page)
  for (const title of Object.keys(colors)) {
    if (!rows.some((row) => row.title === title)) throw new Error(`The table has no row "${title}".`)
  }
  const isWork = ({ title }) => /^(?:an export|an import|the index)/.test(title)
  const requests = rows.filter((row) => !isWork(row))
  const work = rows.filter(isWork)
  // The peaks of requests differ by a few MiB.
  const peaks = sizes.map((_, index) => Math.max(...requests.map((row) => row.peaks[index] ?? 0)))
  const title = 'What a tenant costs by the number of its users'
  return drawing(860, 732, title, [
    heading(20, 28, title, 15),
    text(
      20,
      48,
      'All scales are logarithmic: each line of the grid is ten times the one before. The labels show the values at the largest size.',
    ),
    text(20, 64, 'In colour: what takes so much longer that you have to plan for it.'),
    ...panel('Median time of a request', [64, 112, 530, 270], sizes, {
      lines: timesOf(requests),
      format: timeText,
      limit,
    }),
    ...panel('Time of a command, and of building an index', [64, 464, 150, 220], sizes, {
      lines: timesOf(work),
      format: timeText,
    }),
    ...panel('Peak memory of the process that does the work', [488, 464, 150, 220], sizes, {
      lines: [
        { label: 'any request', color: grey, values: peaks },
        ...work.map((row) => ({ ...row, values: row.peaks })),
      ],
      format: memoryText,
    }),
  ])
}

/** Reads the table. A cell begins with `1,609 ms, 211 MiB`, or is the code of an error. */
function readTable(page) {
  const [, head, body] = /^\| (\| [\d,]+ users .*)\n\|[-|]+\n((?:\|.*\n)+)/m.exec(page) ?? []
  if (head === undefined) throw new Error('There is no table by the number of users.')
  const numberOf = (digits) => Number(digits.replaceAll(',', ''))
  const rows = body.matchAll(/^\| ([^|]+) \| (.*) \|$/gm).map(([, title, rest]) => {
    const cells = rest.split(' | ')
    const found = cells.map((cell) => /^([\d,.]+) ms, ([\d,]+) MiB/.exec(cell))
    const codes = cells.map((cell) => /^[A-Z_]+$/.exec(cell)?.[0])
    return {
      title,
      label: title
        .replace(/^the index user_(?:tenant_app_id_)?(\w+?)(?:_id)?_idx$/, 'index on $1')
        .replace(' of it', ''),
      color: colors[title] ?? grey,
      // A request that fails has reached the limit.
      times: found.map((match, index) => (match ? numberOf(match[1]) : codes[index] && limit)),
      code: codes.at(-1),
      peaks: found.map((match) => (match ? numberOf(match[2]) : undefined)),
    }
  })
  return { sizes: [...head.matchAll(/[\d,]+/g)].map(([digits]) => numberOf(digits)), rows: [...rows] }
}

const timesOf = (rows) => rows.map((row) => ({ ...row, values: row.times, failure: row.code }))

/** `8.43` ⇒ `8.4 ms`, `127722` ⇒ `128 s` */
function timeText(milliseconds) {
  const [number, unit] = milliseconds < 1_000 ? [milliseconds, 'ms'] : [milliseconds / 1_000, 's']
  return `${number.toLocaleString('en', { maximumFractionDigits: number < 10 ? 1 : 0 })} ${unit}`
}
const memoryText = (mebibytes) => `${mebibytes.toLocaleString('en')} MiB`
const usersText = (users) => users.toLocaleString('en', { notation: 'compact' })

/** Draws lines over the sizes, each with a label at the right. */
function panel(title, [x, y, width, height], sizes, { lines, format, limit: top }) {
  const drawn = lines
    .map((row) => {
      const points = sizes.map((users, index) => ({ users, value: row.values[index] })).filter(({ value }) => value)
      return { ...row, points, end: points.at(-1) }
    })
    .toSorted((one, other) => other.end.value - one.end.value)
  const values = [...drawn.flatMap(({ points }) => points.map(({ value }) => value)), ...(top ? [top] : [])]
  const first = Math.floor(Math.log10(Math.min(...values)))
  const last = Math.ceil(Math.log10(Math.max(...values)))
  const right = x + width
  const bottom = y + height
  const xOf = (users) => round(x + (Math.log(users / sizes[0]) / Math.log(sizes.at(-1) / sizes[0])) * width)
  const yOf = (value) => round(bottom - ((Math.log10(value) - first) / (last - first)) * height)
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index))
  const heights = spread(drawn.map(({ end }) => yOf(end.value)))
  const parts = [heading(x - 44, y - 18, title, 12)]
  for (const tick of ticks) {
    parts.push(line(x, yOf(tick), right, yOf(tick), gridColor), text(x - 6, yOf(tick) + 4, format(tick), 'end'))
  }
  for (const users of sizes) {
    parts.push(
      line(xOf(users), y, xOf(users), bottom, gridColor),
      text(xOf(users), bottom + 18, usersText(users), 'middle'),
    )
  }
  parts.push(text(x + width / 2, bottom + 36, 'users of the tenant', 'middle'))
  if (top) {
    parts.push(line(x, yOf(top), right, yOf(top), '#222222', ' stroke-dasharray="5 3"'))
    parts.push(text(x + 6, yOf(top) - 5, `DATABASE_STATEMENT_TIMEOUT, ${format(top)} by default`))
  }
  for (const [index, { label, color, points, end, failure }] of drawn.entries()) {
    const places = points.map(({ users, value }) => [xOf(users), yOf(value)])
    const at = end.users === sizes.at(-1) ? '' : ` at ${usersText(end.users)}`
    parts.push(
      line(places.at(-1)[0] + 5, places.at(-1)[1], right + 22, heights[index], '#c4c4c4'),
      `<polyline points="${places.join(' ')}" fill="none" stroke="${color}" stroke-width="${color === grey ? 1.2 : 2.2}"/>`,
      ...places.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="2.5" fill="${color}"/>`),
      `<g fill="${color}">${text(right + 26, heights[index] + 4, `${label}: ${failure ?? format(end.value)}${at}`)}</g>`,
    )
  }
  return parts
}

/** Moves labels apart that would overlap, as little as possible. `[10, 10, 50]` ⇒ `[3.5, 16.5, 50]` */
function spread(heights, gap = 13) {
  // Labels that touch are a group, around the mean of the heights they should have.
  const groups = []
  for (const [index, height] of heights.entries()) {
    let group = [height - index * gap]
    while (groups.length > 0 && mean(groups.at(-1)) > mean(group)) group = [...groups.pop(), ...group]
    groups.push(group)
  }
  return groups.flatMap((group) => group.map(() => mean(group))).map((top, index) => round(top + index * gap))
}

const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length
const round = (number) => Math.round(number * 10) / 10
const line = (x1, y1, x2, y2, color, style = '') =>
  `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${color}"${style}/>`
const heading = (x, y, content, size) => `<g font-weight="bold" font-size="${size}">${text(x, y, content)}</g>`
