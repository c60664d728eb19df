import type { ComponentChildren } from 'preact'
import { formatCompact, formatNumber } from './format.ts'
import { h, html } from './html.ts'

// Small charts. What they show is also a table, which opens below them.

const [width, height] = [300, 60] as const

interface CurveProps {
  /** What it shows: `Followers`. */
  readonly label: string
  /** In the order of their times. */
  readonly points: readonly { readonly at: string; readonly value: number | null }[]
}

const dayOf = (at: string) => at.slice(0, 10)

/** A number over time as a line. Renders nothing for less than two numbers. */
export function Curve({ label, points }: CurveProps) {
  const known = points.flatMap(({ at, value }) => (value === null ? [] : [{ at, value }]))
  const [first, last] = [known[0], known.at(-1)]
  if (!first || !last || first === last) return null
  const values = known.map(({ value }) => value)
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const [begin, end] = [Date.parse(first.at), Date.parse(last.at)]
  const xOf = (at: string) => ((Date.parse(at) - begin) / (end - begin)) * width
  const yOf = (value: number) => height - 4 - ((value - least) / (most - least || 1)) * (height - 8)
  const line = known.map(({ at, value }) => `${xOf(at).toFixed(1)},${yOf(value).toFixed(1)}`).join(' ')
  const text = `${label} from ${dayOf(first.at)} to ${dayOf(last.at)}: ${formatNumber(first.value)} to ${formatNumber(last.value)}`
  const picture = html`
    <svg class="curve" role="img" aria-label=${text} viewBox="0 0 ${width} ${height}" preserveAspectRatio="none">
      <polyline points=${line} vector-effect="non-scaling-stroke" />
    </svg>
  `
  const caption = `${label}: ${formatCompact(first.value)} on ${dayOf(first.at)}, ${formatCompact(last.value)} on ${dayOf(last.at)}`
  const rows = known.toReversed().map(({ at, value }) => [dayOf(at), formatNumber(value)])
  return h(Chart, { picture, caption, heads: ['Day', label], rows })
}

interface BarsProps {
  /** What it shows: `Jobs of the last day`. */
  readonly label: string
  /** The name of what the bars stand for: `Hour`. */
  readonly head: string
  readonly bars: readonly { readonly name: string; readonly values: readonly number[] }[]
  /** The parts of each bar, each with the name of its colour. */
  readonly parts: readonly { readonly name: string; readonly colour: string }[]
}

/** Numbers as bars, which have parts. */
export function Bars({ label, head, bars, parts }: BarsProps) {
  const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)
  const most = Math.max(1, ...bars.map(({ values }) => sumOf(values)))
  const step = width / bars.length
  const heightOf = (value: number) => (value / most) * height
  const rects = bars.flatMap(({ values }, at) =>
    values.map((value, part) => {
      const below = heightOf(sumOf(values.slice(0, part)))
      const top = height - below - heightOf(value)
      return html`<rect class=${parts[part]?.colour} x=${at * step + 1} y=${top} width=${step - 2} height=${heightOf(value)} />`
    }),
  )
  const totals = parts.map(({ name }, part) => [name, sumOf(bars.map(({ values }) => values[part] ?? 0))] as const)
  const text = `${label}: ${totals.map(([name, total]) => `${formatNumber(total)} ${name.toLowerCase()}`).join(', ')}`
  const picture = html`
    <svg class="bars" role="img" aria-label=${text} viewBox="0 0 ${width} ${height}" preserveAspectRatio="none">${rects}</svg>
  `
  const rows = bars
    .toReversed()
    .filter(({ values }) => sumOf(values) > 0)
    .map(({ name, values }) => [name, ...values.map(formatNumber)])
  return h(Chart, { picture, caption: text, heads: [head, ...parts.map(({ name }) => name)], rows })
}

interface ChartProps {
  readonly picture: ComponentChildren
  readonly caption: string
  readonly heads: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

function Chart({ picture, caption, heads, rows }: ChartProps) {
  return html`
    <figure class="stack tight">
      ${picture}
      <figcaption>
        <details>
          <summary class="soft">${caption}</summary>
          <table class="numbers">
            <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
            <tbody>${rows.map(([first, ...cells]) => html`<tr><th scope="row">${first}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
          </table>
        </details>
      </figcaption>
    </figure>
  `
}
