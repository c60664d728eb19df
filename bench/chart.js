import { median } from './measure.js'

const peers = {
  mercurius: '#d9822b',
  'mercurius-alike': '#f0c48a',
  postgraphile: '#3f6fb5',
  'postgraphile-alike': '#a5c0e6',
}
const barHeight = 12
const gap = 14
const left = 330
const unit = 110
const maxRatio = 4

const explanation = [
  'Requests per second of the gateway, divided by those of the peer.',
  'In (q), (r) and (s) the gateway may send responses from memory, and the peers read each time. In the others all read.',
]

/** Draws the ratios of a run as SVG: a bar per case and peer. The line is the gateway. */
export function drawChart(measured) {
  const parts = []
  let y = 86
  for (const [letter, { title, runs }] of Object.entries(measured)) {
    const names = Object.keys(peers).filter((name) => runs?.[name])
    if (names.length === 0) continue
    parts.push(text(left - 10, y + (names.length * barHeight) / 2 + 4, `(${letter}) ${title}`, 'end'))
    for (const name of names) {
      const ratio = median(runs.gateway.map((one, index) => one.perSecond / runs[name][index].perSecond))
      const width = Math.min(ratio, maxRatio) * unit
      parts.push(
        `<rect x="${left}" y="${y}" width="${width.toFixed(0)}" height="${barHeight - 2}" fill="${peers[name]}"/>`,
      )
      parts.push(text(left + width + 4, y + 9, ratio.toFixed(2)))
      y += barHeight
    }
    y += gap
  }
  const legend = Object.entries(peers).map(([name, color], index) => {
    const x = 20 + index * 170
    return `<rect x="${x}" y="48" width="10" height="10" fill="${color}"/>${text(x + 16, 57, name)}`
  })
  const line = left + unit
  return drawing(left + unit * maxRatio + 60, y + 10, 'Requests per second of the gateway divided by those of a peer', [
    ...explanation.map((sentence, index) => text(20, 18 + index * 16, sentence)),
    ...legend,
    ...parts,
    `<line x1="${line}" x2="${line}" y1="76" y2="${y}" stroke="#333333" stroke-dasharray="4 3"/>`,
    text(line + 4, 78, 'as fast as the peer'),
  ])
}

/** An SVG of a size in pixels, on white. */
export function drawing(width, height, title, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="11">`,
    `<title>${title}</title>`,
    '<rect width="100%" height="100%" fill="#ffffff"/>',
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

/** A line of text, on the baseline `y`. `anchor` is `start`, `middle` or `end`. */
export function text(x, y, content, anchor = 'start') {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${escaped}</text>`
}
