-- The functions of the event log on a database that `migrate distribute` has distributed over servers. A trigger runs on the server that has the
-- row. Citus lets a statement of it reach rows there, one after the other, and not those of a transition table. They replace the functions of the
-- migrations; on one server those are faster. A blank line separates the statements, which Citus takes one by one.

-- A notification stays on its server, and forbids a transaction over several of them. Followers poll (src/domain/event/event-feed.ts).
CREATE OR REPLACE FUNCTION announce_events() RETURNS boolean AS $$ SELECT true $$ LANGUAGE sql;

-- `migrate move` raises the numbers of a node while transactions run there. From then on transactions write with the next offset, whether they have
-- written before or not, and a session keeps none. Those that have can have used the former offset, and have a smaller number than `since`. While
-- one of them runs, the horizon stays below what they have written (packages/citus). A transaction has its number before
-- it looks at the offset: this is why none that has a later number than `since` can have used the former one.
CREATE OR REPLACE FUNCTION transaction_prefix() RETURNS text AS $$
DECLARE
  own bigint := pg_current_xact_id()::text::bigint;
BEGIN
  RETURN (SELECT event_prefix(coalesce(next, "offset") + own) FROM event_state LEFT JOIN event_raise ON true);
END
$$ LANGUAGE plpgsql;

CREATE OR REPLACE FUNCTION event_horizon(OUT complete text, OUT begun text) AS $$
  SELECT event_prefix(CASE WHEN oldest >= since THEN next ELSE "offset" END + oldest), event_prefix(coalesce(next, "offset") + latest)
  FROM event_state LEFT JOIN event_raise ON true,
    (SELECT pg_snapshot_xmin(present)::text::bigint AS oldest, pg_snapshot_xmax(present)::text::bigint AS latest FROM pg_current_snapshot() AS present) AS numbers
$$ LANGUAGE sql STABLE;

CREATE OR REPLACE FUNCTION event_running() RETURNS text[] AS $$
  SELECT ARRAY(
    SELECT event_prefix(used + number::text::bigint)
    FROM pg_snapshot_xip(pg_current_snapshot()) AS number, (SELECT "offset" FROM event_state UNION SELECT next FROM event_raise WHERE next IS NOT NULL) AS offsets (used))
$$ LANGUAGE sql STABLE;

-- Not in the language SQL: Citus would find the table of each server in the plan of the statement that calls it.
CREATE OR REPLACE FUNCTION event_position() RETURNS TABLE (server text, begun text, running text[]) AS $$ BEGIN
  RETURN QUERY SELECT concat_ws(' ', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
      (extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()) * 1000000)::bigint, 'public.event'::regclass::oid, s."offset", r.next,
      pg_sequence_last_value('public.event_truncations')),
    event_prefix(coalesce(r.next, s."offset") +
      CASE WHEN pg_is_in_recovery() THEN pg_snapshot_xmin(pg_current_snapshot()) ELSE pg_snapshot_xmax(pg_current_snapshot()) END::text::bigint),
    event_running()
  FROM event_state AS s LEFT JOIN event_raise AS r ON true;
END $$ LANGUAGE plpgsql STABLE;

CREATE OR REPLACE FUNCTION write_events() RETURNS trigger SET search_path = public, pg_temp AS $$
DECLARE
  changed record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR changed IN SELECT rows.* FROM (SELECT NULL::text AS user_id, NULL::text AS account_id) AS missing,
      LATERAL (SELECT tenant_app_id, id, user_id, account_id FROM new_rows) AS rows
    LOOP
      INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id) VALUES (changed.tenant_app_id, TG_ARGV[0], changed.id,
        CASE WHEN TG_ARGV[3] = 'user' THEN changed.id ELSE changed.user_id END, CASE WHEN TG_ARGV[3] = 'account' THEN changed.id ELSE changed.account_id END);
    END LOOP;
  ELSIF TG_OP = 'UPDATE' AND TG_WHEN = 'AFTER' THEN
    IF NEW *= OLD THEN RETURN NULL; END IF;
    FOR changed IN SELECT rows.* FROM (SELECT NULL::text AS user_id, NULL::text AS account_id) AS missing,
      LATERAL (SELECT tenant_app_id, id, user_id, account_id FROM (SELECT NEW.*) AS new_row) AS rows
    LOOP
      INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id) VALUES (changed.tenant_app_id, TG_ARGV[1], changed.id,
        CASE WHEN TG_ARGV[3] = 'user' THEN changed.id ELSE changed.user_id END, CASE WHEN TG_ARGV[3] = 'account' THEN changed.id ELSE changed.account_id END);
    END LOOP;
  ELSIF TG_OP = 'UPDATE' THEN
    -- Citus lets no row get another tenant.
    FOR changed IN SELECT rows.* FROM (SELECT NULL::text AS user_id, NULL::text AS account_id) AS missing,
      LATERAL (SELECT tenant_app_id, id, user_id, account_id FROM (SELECT OLD.*) AS old_row) AS rows
    LOOP
      INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id) VALUES (changed.tenant_app_id, TG_ARGV[1], changed.id,
        CASE WHEN TG_ARGV[3] = 'user' THEN changed.id ELSE changed.user_id END, CASE WHEN TG_ARGV[3] = 'account' THEN changed.id ELSE changed.account_id END);
    END LOOP;
    RETURN NEW;
  ELSE
    FOR changed IN SELECT rows.* FROM (SELECT NULL::text AS user_id, NULL::text AS account_id) AS missing,
      LATERAL (SELECT tenant_app_id, id, user_id, account_id FROM old_rows) AS rows
    LOOP
      IF EXISTS (SELECT FROM tenant_app WHERE tenant_app.id = changed.tenant_app_id AND tenant_app.deleting_since IS NULL) THEN
        INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id) VALUES (changed.tenant_app_id, TG_ARGV[2], changed.id,
          CASE WHEN TG_ARGV[3] = 'user' THEN changed.id ELSE changed.user_id END, CASE WHEN TG_ARGV[3] = 'account' THEN changed.id ELSE changed.account_id END);
      END IF;
    END LOOP;
  END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE OR REPLACE FUNCTION write_profile_events() RETURNS trigger SET search_path = public, pg_temp AS $$
DECLARE
  changed record;
  owner text;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR changed IN SELECT tenant_app_id, id, account_id FROM new_rows LOOP
      SELECT user_id INTO owner FROM account WHERE tenant_app_id = changed.tenant_app_id AND id = changed.account_id;
      INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id)
        VALUES (changed.tenant_app_id, 'PROFILE_SYNCED', changed.id, owner, changed.account_id);
    END LOOP;
  ELSIF TG_OP = 'UPDATE' AND TG_WHEN = 'AFTER' THEN
    NEW.synced_at := OLD.synced_at;
    IF NEW *= OLD THEN RETURN NULL; END IF;
    SELECT user_id INTO owner FROM account WHERE tenant_app_id = NEW.tenant_app_id AND id = NEW.account_id;
    INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id)
      VALUES (NEW.tenant_app_id, 'PROFILE_SYNCED', NEW.id, owner, NEW.account_id);
  ELSIF TG_OP = 'UPDATE' THEN
    SELECT user_id INTO owner FROM account WHERE tenant_app_id = OLD.tenant_app_id AND id = OLD.account_id;
    INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id)
      VALUES (OLD.tenant_app_id, 'PROFILE_SYNCED', OLD.id, owner, OLD.account_id);
    RETURN NEW;
  ELSE
    FOR changed IN SELECT tenant_app_id, id, account_id FROM old_rows LOOP
      SELECT user_id INTO owner FROM account WHERE tenant_app_id = changed.tenant_app_id AND id = changed.account_id;
      IF FOUND THEN
        INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id)
          VALUES (changed.tenant_app_id, 'PROFILE_SYNCED', changed.id, owner, changed.account_id);
      END IF;
    END LOOP;
  END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE OR REPLACE FUNCTION write_email_events() RETURNS trigger SET search_path = public, pg_temp AS $$
DECLARE
  own text := transaction_prefix();
  tenants text[];
  profiles text[];
  changed record;
  owner record;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    SELECT array_agg(tenant_app_id), array_agg(profile_id) INTO tenants, profiles FROM (
      (TABLE changed_rows EXCEPT TABLE old_rows) UNION ALL (TABLE old_rows EXCEPT TABLE changed_rows)) AS different;
  ELSE
    SELECT array_agg(tenant_app_id), array_agg(profile_id) INTO tenants, profiles FROM changed_rows;
  END IF;
  FOR changed IN SELECT DISTINCT tenant_app_id, profile_id FROM unnest(tenants, profiles) AS email (tenant_app_id, profile_id) LOOP
    SELECT account.id, account.user_id INTO owner FROM profile JOIN account ON account.tenant_app_id = profile.tenant_app_id AND account.id = profile.account_id
      WHERE profile.tenant_app_id = changed.tenant_app_id AND profile.id = changed.profile_id;
    IF FOUND AND NOT EXISTS (SELECT FROM event AS written WHERE written.tenant_app_id = changed.tenant_app_id
      AND written.type = 'PROFILE_SYNCED' AND written.resource_id = changed.profile_id AND written.id > own AND written.id < own || 'g')
    THEN
      INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id)
        VALUES (changed.tenant_app_id, 'PROFILE_SYNCED', changed.profile_id, owner.user_id, owner.id);
    END IF;
  END LOOP;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE OR REPLACE FUNCTION write_profile_metrics() RETURNS trigger SET search_path = public, pg_temp AS $$
DECLARE
  changed record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR changed IN SELECT *, (least(synced_at, now()) AT TIME ZONE 'UTC')::date AS day FROM new_rows
      WHERE num_nonnulls(followers_count, following_count, subscribers_count, contents_count, watch_time_in_hours) > 0
    LOOP
      INSERT INTO profile_metric (tenant_app_id, profile_id, day,
        followers_count, following_count, subscribers_count, contents_count, watch_time_in_hours)
      VALUES (changed.tenant_app_id, changed.id, changed.day,
        changed.followers_count, changed.following_count, changed.subscribers_count, changed.contents_count, changed.watch_time_in_hours);
    END LOOP;
  ELSE
    FOR changed IN SELECT present.*,
        (CASE WHEN present.synced_at = former.synced_at THEN now() ELSE least(present.synced_at, now()) END AT TIME ZONE 'UTC')::date AS day
      FROM new_rows AS present JOIN old_rows AS former ON former.tenant_app_id = present.tenant_app_id AND former.id = present.id
      WHERE (present.followers_count, present.following_count, present.subscribers_count, present.contents_count, present.watch_time_in_hours)
        IS DISTINCT FROM (former.followers_count, former.following_count, former.subscribers_count, former.contents_count, former.watch_time_in_hours)
    LOOP
      INSERT INTO profile_metric (tenant_app_id, profile_id, day,
        followers_count, following_count, subscribers_count, contents_count, watch_time_in_hours)
      VALUES (changed.tenant_app_id, changed.id, changed.day,
        changed.followers_count, changed.following_count, changed.subscribers_count, changed.contents_count, changed.watch_time_in_hours)
      ON CONFLICT (tenant_app_id, profile_id, day) DO UPDATE SET
        followers_count = excluded.followers_count, following_count = excluded.following_count,
        subscribers_count = excluded.subscribers_count, contents_count = excluded.contents_count, watch_time_in_hours = excluded.watch_time_in_hours;
    END LOOP;
  END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE OR REPLACE FUNCTION write_job_events() RETURNS trigger SET search_path = public, pg_temp AS $$
DECLARE
  changed record;
BEGIN
  IF TG_OP = 'INSERT' THEN
    FOR changed IN SELECT tenant_app_id, id, status FROM new_rows LOOP
      INSERT INTO event (tenant_app_id, type, resource_id, status) VALUES (changed.tenant_app_id, 'JOB_CREATED', changed.id, changed.status);
    END LOOP;
  ELSE
    IF (NEW.updated_at, NEW.status, NEW.progress, NEW.progress_message)
      IS NOT DISTINCT FROM (OLD.updated_at, OLD.status, OLD.progress, OLD.progress_message) THEN RETURN NULL; END IF;
    INSERT INTO event (tenant_app_id, type, resource_id, status, status_before) VALUES (NEW.tenant_app_id, CASE
        WHEN NEW.status = 'RUNNING' AND NEW.attempts <> OLD.attempts THEN 'JOB_STARTED'
        WHEN NEW.status = OLD.status THEN 'JOB_UPDATED'
        WHEN NEW.status = 'RUNNING' THEN 'JOB_STARTED'
        WHEN NEW.status = 'PENDING' THEN 'JOB_RETRIED'
        ELSE 'JOB_' || NEW.status
      END, NEW.id, NEW.status, OLD.status);
  END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

-- The server that receives a statement fills in its own time, which is earlier than that of the row's server in the same transaction. The erasure of
-- users compares both (src/domain/erasure/erase-users.ts).
CREATE OR REPLACE FUNCTION stamp_on_node() RETURNS trigger AS $$ BEGIN NEW.created_at := now(); RETURN NEW; END $$ LANGUAGE plpgsql;
