/** Shows how far a command has come. */
export interface Progress {
  update(done: number): void
  end(): void
}

/** Shows a progress bar on stderr if that is a terminal. In a pipe it would be noise. */
export async function showProgress(title: string, total: number): Promise<Progress> {
  if (!process.stderr.isTTY || total <= 0) return { update: () => undefined, end: () => undefined }
  const { progress } = await import('@clack/prompts')
  const bar = progress({ max: total, output: process.stderr })
  let shown = 0
  bar.start(title)
  return {
    update(done) {
      bar.advance(done - shown, `${title} ${Math.floor((done / total) * 100)} %`)
      shown = done
    },
    end: () => bar.stop(title),
  }
}
