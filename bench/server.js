import pg from 'pg'
import { canCreateClusters, createCluster } from '../test/support/cluster.ts'

/**
 * Opens a PostgreSQL server: the one at DATABASE_URL, as a user who may create databases, or one of its own.
 *
 * @returns `createDatabase(template?)` creates an empty database, or a copy of another one, and returns its URL;
 *   `remove()` removes all of them
 */
export async function openServer() {
  const given = process.env.DATABASE_URL
  if (!given && !canCreateClusters) throw new Error('Set DATABASE_URL, or install PostgreSQL.')
  const cluster = given ? undefined : await createCluster()
  // What TLS costs is the same for every server that is compared.
  const admin = given || cluster.adminUrl.replace(/\?.*/, '')
  const names = []
  const run = async (sql) => {
    const client = new pg.Client({ connectionString: admin })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  return {
    async createDatabase(template) {
      const name = `fusion_bench_${process.pid}_${names.length + 1}`
      await run(`CREATE DATABASE ${name} ${template ? `TEMPLATE ${new URL(template).pathname.slice(1)}` : ''}`)
      names.push(name)
      const url = new URL(admin)
      url.pathname = `/${name}`
      return url.href
    },
    async remove() {
      if (cluster) return cluster.remove()
      for (const name of names) await run(`DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}
