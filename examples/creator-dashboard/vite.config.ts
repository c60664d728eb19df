import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'
import { compress } from './compress.ts'
import { createBackend } from './server/backend.ts'
import { readSettings } from './server/settings.ts'

export default defineConfig(async ({ command }) => ({
  plugins: [react(), compress()],
  resolve: {
    // The package of clients is the one in this repository, without a build.
    conditions: ['fusion-source', ...defaultClientConditions],
    dedupe: ['@urql/core', 'graphql', 'wonka'],
  },
  // Vite's server answers for the pages, and the backend in the same process for the rest.
  server: command === 'serve' ? { proxy: await proxyToBackend() } : {},
}))

async function proxyToBackend() {
  const backend = await createBackend(readSettings())
  const target = await backend.listen({ host: '127.0.0.1', port: 0 })
  return { '/api': target, '/graphql': target }
}
