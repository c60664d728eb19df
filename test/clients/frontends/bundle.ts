import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build } from 'rolldown'
import { projectRoot } from '../../support/docs.ts'
import { documents } from './documents.ts'

/** Bundles the page of a client for browsers, with the package that frontends install. */
export async function bundlePage(client: string): Promise<string> {
  const page = path.join(import.meta.dirname, 'pages', `${client}.ts`)
  const folder = mkdtempSync(path.join(tmpdir(), 'fusion-page-'))
  try {
    const { output } = await build({
      input: client === 'relay' ? compileRelay(folder, page) : page,
      platform: 'browser',
      // The package as it is written here, without a build.
      resolve: { conditionNames: ['fusion-source', 'import', 'browser', 'production', 'default'] },
      transform: { define: { 'process.env.NODE_ENV': '"production"' } },
      write: false,
      output: { format: 'esm', codeSplitting: false },
    })
    return output[0].code
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Compiles the documents for Relay. Returns the file that starts the page with them. */
function compileRelay(folder: string, page: string): string {
  const file = (name: string) => path.join(folder, name)
  mkdirSync(file('src'))
  symlinkSync(path.join(projectRoot, 'examples/relay/node_modules'), file('node_modules'))
  copyFileSync(path.join(projectRoot, 'schema.graphql'), file('schema.graphql'))
  const config = { src: './src', schema: './schema.graphql', language: 'javascript', eagerEsModules: true }
  writeFileSync(file('relay.config.json'), JSON.stringify(config))
  const names = Object.keys(documents)
  // An operation is named after its module.
  for (const [name, text] of Object.entries(documents)) {
    writeFileSync(file(`src/${name.replace(/(Query|Mutation|Subscription)$/, '')}.js`), `graphql\`${text}\``)
  }
  execFileSync('npx', ['relay-compiler'], { cwd: folder, stdio: 'pipe' })
  const imports = names.map((name) => `import ${name} from './__generated__/${name}.graphql.js'`)
  const start = `import { connectWith } from '${page}'
    export { startPage } from '${page}'
    export const connect = connectWith({ ${names.join(', ')} })`
  writeFileSync(file('src/entry.js'), [...imports, start].join('\n'))
  return file('src/entry.js')
}
