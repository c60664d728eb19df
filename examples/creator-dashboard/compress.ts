import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

/** Writes each file of the build compressed too, for the backend to send. */
export function compress(): Plugin {
  return {
    name: 'compress',
    apply: 'build',
    generateBundle: {
      // Vite itself still changes the files in this hook.
      order: 'post',
      handler(_, bundle) {
        for (const [fileName, file] of Object.entries(bundle)) {
          const content = file.type === 'chunk' ? file.code : file.source
          this.emitFile({ type: 'asset', fileName: `${fileName}.br`, source: brotliCompressSync(content) })
          this.emitFile({ type: 'asset', fileName: `${fileName}.gz`, source: gzipSync(content, { level: 9 }) })
        }
      },
    },
  }
}
