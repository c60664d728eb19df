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
    const text = editor.getValue()
    const revision = revisionOf(text)
    // The revision itself is no change. It is at the end.
    const lines = text.replace(/^([\s\S]*"revision": )\d+/, '$1').split('\n')
    const changes = revision > 1 && revision === last.revision + 1 ? changesOf(last.lines, lines) : []
    last = { revision, lines }
    marks.set(changes.flatMap((change) => marksOf(change, editor.getModel())))
    if (revision === 0) return
    const count = changes.reduce((sum, { added, removed }) => sum + Math.max(added, removed), 0)
    showFacts([`Revision ${revision}`, revision > 1 && `${linesOf(count)} changed`])
  })
}

/** The revision of a live result, 0 of another one. */
function revisionOf(text) {
  try {
    return JSON.parse(text).extensions?.live?.revision ?? 0
  } catch {
    return 0
  }
}

const linesOf = (count) => `${count} ${count === 1 ? 'line' : 'lines'}`

/** Marks lines by their colour, and says in words behind the first one what is different. */
function marksOf({ at, added, removed }, model) {
  // Behind the line before lines that were removed.
  const line = added > 0 ? at + 1 : Math.max(at, 1)
  const end = model.getLineMaxColumn(line)
  const text = added === 0 ? `${linesOf(removed)} removed` : removed === 0 ? `${linesOf(added)} new` : 'changed'
  const label = {
    range: new monaco.Range(line, end, line, end),
    options: { showIfCollapsed: true, after: { content: `  ← ${text}`, inlineClassName: 'change-label' } },
  }
  if (added === 0) return [label]
  const range = new monaco.Range(line, 1, at + added, 1)
  return [label, { range, options: { isWholeLine: true, className: 'change' } }]
}

/** The most pairs of lines that are compared. More lines are one change. */
const maxPairs = 4_000_000

/** Where lines were added or removed: the difference of two texts with the longest common subsequence of lines. */
function changesOf(before, after) {
  let from = 0
  while (from < after.length && before[from] === after[from]) from += 1
  const most = Math.min(before.length, after.length) - from
  let same = 0
  while (same < most && before.at(-1 - same) === after.at(-1 - same)) same += 1
  const old = before.slice(from, before.length - same)
  const now = after.slice(from, after.length - same)
  if (old.length * now.length > maxPairs) return [{ at: from, added: now.length, removed: old.length }]
  /** The length of the longest common subsequence of the lines from two places on. */
  const common = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1))
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      common[i][j] = old[i] === now[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1])
    }
  }
  const changes = []
  let change
  for (let i = 0, j = 0; i < old.length || j < now.length; ) {
    if (i < old.length && old[i] === now[j]) {
      change = undefined
      i += 1
      j += 1
      continue
    }
    if (!change) {
      change = { at: from + j, added: 0, removed: 0 }
      changes.push(change)
    }
    if (j < now.length && (i === old.length || common[i][j + 1] >= common[i + 1][j])) {
      change.added += 1
      j += 1
    } else {
      change.removed += 1
      i += 1
    }
  }
  return changes
}
