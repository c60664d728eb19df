import { styleText } from 'node:util'

/** Shows the progress of a command. */
export interface Progress {
  update(done: number): void
  end(): void
}

const width = 40

/** Shows a progress bar on stderr if stderr is a terminal. */
export function showProgress(title: string, total: number, out: NodeJS.WriteStream = process.stderr): Progress {
  if (!out.isTTY || total <= 0) return { update: () => undefined, end: () => undefined }
  let shown = -1
  return {
    update(done) {
      const percent = Math.min(Math.floor((done / total) * 100), 100)
      if (percent === shown) return
      shown = percent
      const filled = Math.round((percent / 100) * width)
      const bar = styleText('green', '█'.repeat(filled), { stream: out }) + '░'.repeat(width - filled)
      out.write(`\r${title} ${bar} ${percent} %`)
    },
    end: () => out.write('\n'),
  }
}
