import type { Random } from '../../src/domain/resource.ts'

const platforms = ['YOUTUBE', 'TIKTOK', 'X']

const quote = (value: string | number | null) => (value === null ? 'NULL' : `'${value}'`)

/**
 * Random changes of a tenant as SQL statements, each of which changes something. Ids come from small pools, so that
 * they are used again after a deletion, by other users too.
 *
 * @param prefix of all ids, so that several writers can change one tenant
 */
export function createRandomChanges(random: Random, tenantAppId: string, prefix = '') {
  const { below, pick } = random
  const tenant = quote(tenantAppId)
  const users = new Set<string>()
  /** Users of accounts. */
  const accounts = new Map<string, string>()
  const jobs = new Set<string>()
  let number = 0

  const keyed = (id: string) => `tenant_app_id = ${tenant} AND id = ${quote(id)}`
  /** A time that no other change has. */
  function time(): string {
    number += 1
    return quote(new Date(Date.UTC(2026, 5, 1) + number).toISOString())
  }

  function changeUser(): string {
    const id = `usr_${prefix}${below(80)}`
    const fields = `${quote(`Name ${number}`)}, ${quote(`${number}@example.com`)}, ${pick(['NULL', quote(number)])}`
    if (!users.has(id)) {
      users.add(id)
      return `INSERT INTO "user" (tenant_app_id, id, name, email, phone, updated_at)
        VALUES (${tenant}, ${quote(id)}, ${fields}, ${time()})`
    }
    if (below(3) > 0)
      return `UPDATE "user" SET (name, email, phone, updated_at) = (${fields}, ${time()}) WHERE ${keyed(id)}`
    users.delete(id)
    for (const [account, user] of accounts) if (user === id) accounts.delete(account)
    return `DELETE FROM "user" WHERE ${keyed(id)}`
  }

  function link(id: string): string {
    const user = pick([...users])
    accounts.set(id, user)
    // The ids of a pool have more than one platform account, which is linked under another id at other times.
    const key = `${prefix}${[...id].reduce((sum, letter) => sum + letter.charCodeAt(0), 0)}`
    return `INSERT INTO account (tenant_app_id, id, user_id, platform, platform_account_id, display_name, updated_at)
      SELECT ${tenant}, ${quote(id)}, ${quote(user)}, platform, key, ${quote(`Account ${number}`)}, ${time()}
      FROM unnest(ARRAY[${platforms.map(quote).join()}]) AS platform, (VALUES (${quote(key)}), (${quote(id)})) AS own (key)
      WHERE NOT EXISTS (SELECT FROM account AS other WHERE other.tenant_app_id = ${tenant}
        AND other.platform = platform.platform AND other.platform_account_id = own.key)
      ORDER BY md5(platform || key || ${number}) LIMIT 1`
  }

  function changeAccount(): string {
    if (users.size === 0) return changeUser()
    const id = `acc_${prefix}${below(160)}`
    if (!accounts.has(id)) return link(id)
    const unlink = `DELETE FROM account WHERE ${keyed(id)}`
    switch (below(6)) {
      case 0:
        accounts.delete(id)
        return unlink
      case 1:
        return `${unlink}; ${link(id)}`
      default:
        return `UPDATE account SET display_name = ${quote(`Account ${number}`)}, updated_at = ${time()},
          status = ${quote(pick(['CONNECTED', 'EXPIRED', 'DISCONNECTED']))} WHERE ${keyed(id)}`
    }
  }

  function changeProfile(): string {
    if (accounts.size === 0) return changeAccount()
    const account = `tenant_app_id = ${tenant} AND account_id = ${quote(pick([...accounts.keys()]))}`
    const email = `tenant_app_id = ${tenant} AND id = (SELECT min(id) FROM email_record WHERE tenant_app_id = ${tenant}
      AND profile_id = (SELECT id FROM profile WHERE ${account}))`
    switch (below(6)) {
      case 0:
        return `INSERT INTO email_record (tenant_app_id, id, profile_id, value, type, updated_at)
          SELECT ${tenant}, ${quote(`eml_${prefix}${number}`)}, id, 'a@example.com', 'work', ${time()} FROM profile WHERE ${account}`
      case 1:
        return `UPDATE email_record SET is_primary = NOT is_primary, updated_at = ${time()} WHERE ${email}`
      case 2:
        return `DELETE FROM email_record WHERE ${email}`
      default:
        return `INSERT INTO profile (tenant_app_id, id, account_id, platform, platform_account_id, followers_count,
            unsupported_fields, addresses, synced_at, updated_at)
          SELECT ${tenant}, ${quote(`prf_${prefix}${number}`)}, id, platform, platform_account_id, ${number},
            ${pick(['ARRAY[]::text[]', "ARRAY['url', 'a,b {}']"])}, '[{"city": "Lyon", "at": ${number}}]', ${time()}, ${time()}
          FROM account WHERE tenant_app_id = ${tenant} AND ${account.replace('account_id', 'id')}
          ON CONFLICT (tenant_app_id, account_id) DO UPDATE SET followers_count = excluded.followers_count,
            unsupported_fields = excluded.unsupported_fields, addresses = excluded.addresses,
            synced_at = excluded.synced_at, updated_at = excluded.updated_at`
    }
  }

  function changeJob(): string {
    const id = `job_${prefix}${below(200)}`
    const create = `INSERT INTO job (tenant_app_id, id, job_type, payload, run_at, updated_at)
      VALUES (${tenant}, ${quote(id)}, 'work', '{"number": ${number}}', now(), ${time()})`
    // The job may have been removed because of its age.
    if (jobs.has(id) && below(9) === 0)
      return `${create} ON CONFLICT (tenant_app_id, id) DO UPDATE SET
      status = 'PENDING', progress = NULL, started_at = NULL, finished_at = NULL, updated_at = excluded.updated_at`
    if (!jobs.has(id)) {
      jobs.add(id)
      return create
    }
    const change = pick([
      `status = 'RUNNING', attempts = attempts + 1, started_at = now(), finished_at = NULL, lease_token = 'lease'`,
      `progress = 1.0 / ${number + 1}, progress_message = 'step ${number}'`,
      `status = 'SUCCEEDED', result = '{"done": ${number}}', error = NULL, finished_at = now()`,
      `status = 'FAILED', finished_at = '2020-01-01', error =
        '{"code": "TIMEOUT", "message": "It took too long.", "attempt": 1, "at": "2026-01-01T00:00:00.000Z"}'`,
    ])
    return `UPDATE job SET ${change}, updated_at = ${time()} WHERE ${keyed(id)}`
  }

  return {
    accounts,
    users,
    /** The next change. */
    next: () => pick([changeUser, changeAccount, changeAccount, changeProfile, changeProfile, changeJob])(),
  }
}
