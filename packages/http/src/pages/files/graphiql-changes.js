// The results of a live query replace each other in GraphiQL. Each is marked where it differs from the last one.

// GraphiQL's editors make themselves known (graphiql.ts).
Object.defineProperty(window, 'monaco', {
  configurable: true,
  set(monaco) {
    Object.defineProperty(window, 'monaco', { value: monaco })
    // When all of its script has run.
    queueMicrotask(() => monaco.editor.onDidCreateEditor(markChanges))
  },
})

/** Marks changes in an editor of GraphiQL, if it shows results. */
function markChanges(editor) {
  if (!editor.getContainerDomNode().matches('.result-window')) return
  const marks = editor.createDecorationsCollection()
  let last = { revision: 0, lines: [] }
  editor.onDidChangeModelContent(() => {
    const { extensions, ...result } = resultIn(editor.getValue())
    const revision = extensions?.live?.revision ?? 0
    const lines = [...linesOf(result)]
    const isNext = revision > 1 && revision === last.revision + 1
    const { labels, count } = isNext ? changesOf(new Map(last.lines), lines) : { labels: new Map() }
    last = { revision, lines }
    marks.set([...labels].flatMap(([at, text]) => marksOf(at + 1, text, editor.getModel())))
    if (revision > 0) showFacts([`Revision ${revision}`, isNext && changedText(count)])
  })
}

function resultIn(text) {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/**
 * The lines of a result as GraphiQL shows it: the path and the value of each. In a list, an object is found by its id,
 * wherever it is.
 */
function* linesOf(value, path = '') {
  const entries = Object.entries(typeof value === 'object' && value !== null ? value : {})
  if (entries.length === 0) return yield [path, JSON.stringify(value)]
  yield [path, '']
  for (const [key, child] of entries) {
    yield* linesOf(child, `${path}\n${(Array.isArray(value) && child?.id) || key}`)
  }
  yield [`${path}\n`, '']
}

/** Says of lines, by their places, how they differ from those before. */
function changesOf(before, lines) {
  const labels = new Map()
  const places = new Map()
  lines.forEach(([path, value], at) => {
    places.set(path, at)
    if (before.has(path) && before.get(path) !== value) labels.set(at, 'changed')
    else if (!before.has(path)) labels.set(at, 'new')
  })
  // They are missed on the line of the object or list that they were in.
  const removed = [...before.keys()].filter((path) => !places.has(path))
  for (const path of removed) {
    const parent = places.get(path.slice(0, path.lastIndexOf('\n')))
    if (parent !== undefined && !path.endsWith('\n')) labels.set(parent, 'something removed')
  }
  return { labels, count: labels.size }
}

const changedText = (count) => (count === 0 ? 'another order' : `${count} ${count === 1 ? 'line' : 'lines'} marked`)

/** Marks a line by its colour, and in words behind it. */
function marksOf(line, text, model) {
  const end = model.getLineMaxColumn(line)
  const after = { content: `  ← ${text}`, inlineClassName: 'change-label' }
  return [
    { range: new monaco.Range(line, end, line, end), options: { showIfCollapsed: true, after } },
    { range: new monaco.Range(line, 1, line, 1), options: { isWholeLine: true, className: 'change' } },
  ]
}
