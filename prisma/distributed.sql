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
  fields text[];
BEGIN
  IF TG_OP = 'UPDATE' AND TG_ARGV[3] = 'user' THEN
    fields := array_remove(ARRAY[
      CASE WHEN NEW.id <> OLD.id THEN 'id' END, CASE WHEN NEW.created_at <> OLD.created_at THEN 'createdAt' END,
      CASE WHEN NEW.name <> OLD.name THEN 'name' END, CASE WHEN NEW.email <> OLD.email THEN 'email' END,
      CASE WHEN NEW.phone IS DISTINCT FROM OLD.phone THEN 'phone' END,
      CASE WHEN NEW.external_id IS DISTINCT FROM OLD.external_id THEN 'externalId' END,
      CASE WHEN NEW.metadata::text IS DISTINCT FROM OLD.metadata::text THEN 'metadata' END], NULL);
  ELSIF TG_OP = 'UPDATE' AND TG_ARGV[3] = 'account' THEN
    fields := array_remove(ARRAY[
      CASE WHEN NEW.id <> OLD.id THEN 'id' END, CASE WHEN NEW.created_at <> OLD.created_at THEN 'createdAt' END,
      CASE WHEN NEW.user_id <> OLD.user_id THEN 'user' END, CASE WHEN NEW.platform <> OLD.platform THEN 'platform' END,
      CASE WHEN NEW.platform_account_id <> OLD.platform_account_id THEN 'platformAccountId' END,
      CASE WHEN NEW.display_name <> OLD.display_name THEN 'displayName' END, CASE WHEN NEW.status <> OLD.status THEN 'status' END], NULL);
  END IF;
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
      INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id, changed_fields) VALUES (changed.tenant_app_id, TG_ARGV[1], changed.id,
        CASE WHEN TG_ARGV[3] = 'user' THEN changed.id ELSE changed.user_id END, CASE WHEN TG_ARGV[3] = 'account' THEN changed.id ELSE changed.account_id END, fields);
    END LOOP;
  ELSIF TG_OP = 'UPDATE' THEN
    -- Citus lets no row get another tenant.
    FOR changed IN SELECT rows.* FROM (SELECT NULL::text AS user_id, NULL::text AS account_id) AS missing,
      LATERAL (SELECT tenant_app_id, id, user_id, account_id FROM (SELECT OLD.*) AS old_row) AS rows
    LOOP
      INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id, changed_fields) VALUES (changed.tenant_app_id, TG_ARGV[1], changed.id,
        CASE WHEN TG_ARGV[3] = 'user' THEN changed.id ELSE changed.user_id END, CASE WHEN TG_ARGV[3] = 'account' THEN changed.id ELSE changed.account_id END, fields);
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
  fields text[];
BEGIN
  IF TG_OP = 'UPDATE' THEN
    fields := array_remove(ARRAY[
      CASE WHEN NEW.id <> OLD.id THEN 'id' END, CASE WHEN NEW.created_at <> OLD.created_at THEN 'createdAt' END,
      CASE WHEN NEW.account_id <> OLD.account_id THEN 'accountId' END, CASE WHEN NEW.platform <> OLD.platform THEN 'platform' END,
      CASE WHEN NEW.platform_account_id <> OLD.platform_account_id THEN 'platformAccountId' END,
      CASE WHEN NEW.username IS DISTINCT FROM OLD.username THEN 'username' END, CASE WHEN NEW.url IS DISTINCT FROM OLD.url THEN 'url' END,
      CASE WHEN NEW.gender IS DISTINCT FROM OLD.gender THEN 'gender' END,
      CASE WHEN NEW.full_name IS DISTINCT FROM OLD.full_name THEN 'fullName' END,
      CASE WHEN NEW.first_name IS DISTINCT FROM OLD.first_name THEN 'firstName' END,
      CASE WHEN NEW.last_name IS DISTINCT FROM OLD.last_name THEN 'lastName' END,
      CASE WHEN NEW.nick_name IS DISTINCT FROM OLD.nick_name THEN 'nickName' END,
      CASE WHEN NEW.display_name IS DISTINCT FROM OLD.display_name THEN 'displayName' END,
      CASE WHEN NEW.description IS DISTINCT FROM OLD.description THEN 'description' END,
      CASE WHEN NEW.profile_picture_url IS DISTINCT FROM OLD.profile_picture_url THEN 'profilePictureUrl' END,
      CASE WHEN NEW.date_of_birth IS DISTINCT FROM OLD.date_of_birth THEN 'dateOfBirth' END,
      CASE WHEN NEW.category IS DISTINCT FROM OLD.category THEN 'category' END,
      CASE WHEN NEW.website_url IS DISTINCT FROM OLD.website_url THEN 'websiteUrl' END,
      CASE WHEN NEW.country IS DISTINCT FROM OLD.country THEN 'country' END,
      CASE WHEN NEW.phone_numbers::text IS DISTINCT FROM OLD.phone_numbers::text THEN 'phoneNumbers' END,
      CASE WHEN NEW.addresses::text IS DISTINCT FROM OLD.addresses::text THEN 'addresses' END,
      CASE WHEN NEW.followers_count IS DISTINCT FROM OLD.followers_count THEN 'followersCount' END,
      CASE WHEN NEW.following_count IS DISTINCT FROM OLD.following_count THEN 'followingCount' END,
      CASE WHEN NEW.subscribers_count IS DISTINCT FROM OLD.subscribers_count THEN 'subscribersCount' END,
      CASE WHEN NEW.contents_count IS DISTINCT FROM OLD.contents_count THEN 'contentsCount' END,
      CASE WHEN NEW.watch_time_in_hours IS DISTINCT FROM OLD.watch_time_in_hours THEN 'watchTimeInHours' END,
      CASE WHEN NEW.joined_at IS DISTINCT FROM OLD.joined_at THEN 'joinedAt' END,
      CASE WHEN NEW.verified IS DISTINCT FROM OLD.verified THEN 'verified' END,
      CASE WHEN NEW.unsupported_fields IS DISTINCT FROM OLD.unsupported_fields THEN 'unsupportedFields' END], NULL);
  END IF;
  IF TG_OP = 'INSERT' THEN
    FOR changed IN SELECT * FROM new_rows LOOP
      SELECT user_id INTO owner FROM account WHERE tenant_app_id = changed.tenant_app_id AND id = changed.account_id;
      INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id, changed_fields)
        VALUES (changed.tenant_app_id, 'PROFILE_SYNCED', changed.id, owner, changed.account_id, array_remove(ARRAY[
          CASE WHEN changed.username IS NOT NULL THEN 'username' END, CASE WHEN changed.url IS NOT NULL THEN 'url' END,
          CASE WHEN changed.gender IS NOT NULL THEN 'gender' END, CASE WHEN changed.full_name IS NOT NULL THEN 'fullName' END,
          CASE WHEN changed.first_name IS NOT NULL THEN 'firstName' END, CASE WHEN changed.last_name IS NOT NULL THEN 'lastName' END,
          CASE WHEN changed.nick_name IS NOT NULL THEN 'nickName' END, CASE WHEN changed.display_name IS NOT NULL THEN 'displayName' END,
          CASE WHEN changed.description IS NOT NULL THEN 'description' END,
          CASE WHEN changed.profile_picture_url IS NOT NULL THEN 'profilePictureUrl' END,
          CASE WHEN changed.date_of_birth IS NOT NULL THEN 'dateOfBirth' END, CASE WHEN changed.category IS NOT NULL THEN 'category' END,
          CASE WHEN changed.website_url IS NOT NULL THEN 'websiteUrl' END, CASE WHEN changed.country IS NOT NULL THEN 'country' END,
          CASE WHEN changed.phone_numbers::text <> '[]' THEN 'phoneNumbers' END, CASE WHEN changed.addresses::text <> '[]' THEN 'addresses' END,
          CASE WHEN changed.followers_count IS NOT NULL THEN 'followersCount' END,
          CASE WHEN changed.following_count IS NOT NULL THEN 'followingCount' END,
          CASE WHEN changed.subscribers_count IS NOT NULL THEN 'subscribersCount' END,
          CASE WHEN changed.contents_count IS NOT NULL THEN 'contentsCount' END,
          CASE WHEN changed.watch_time_in_hours IS NOT NULL THEN 'watchTimeInHours' END,
          CASE WHEN changed.joined_at IS NOT NULL THEN 'joinedAt' END, CASE WHEN changed.verified IS NOT NULL THEN 'verified' END,
          CASE WHEN changed.unsupported_fields <> '{}' THEN 'unsupportedFields' END], NULL));
    END LOOP;
  ELSIF TG_OP = 'UPDATE' AND TG_WHEN = 'AFTER' THEN
    NEW.synced_at := OLD.synced_at;
    IF NEW *= OLD THEN RETURN NULL; END IF;
    SELECT user_id INTO owner FROM account WHERE tenant_app_id = NEW.tenant_app_id AND id = NEW.account_id;
    INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id, changed_fields)
      VALUES (NEW.tenant_app_id, 'PROFILE_SYNCED', NEW.id, owner, NEW.account_id, fields);
  ELSIF TG_OP = 'UPDATE' THEN
    SELECT user_id INTO owner FROM account WHERE tenant_app_id = OLD.tenant_app_id AND id = OLD.account_id;
    INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id, changed_fields)
      VALUES (OLD.tenant_app_id, 'PROFILE_SYNCED', OLD.id, owner, OLD.account_id, fields);
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
    UPDATE event SET changed_fields = array_append(event.changed_fields, 'emails') WHERE event.tenant_app_id = changed.tenant_app_id
      AND event.type = 'PROFILE_SYNCED' AND event.resource_id = changed.profile_id AND event.id > own AND event.id < own || 'g'
      AND NOT 'emails' = ANY (event.changed_fields);
    SELECT account.id, account.user_id INTO owner FROM profile JOIN account ON account.tenant_app_id = profile.tenant_app_id AND account.id = profile.account_id
      WHERE profile.tenant_app_id = changed.tenant_app_id AND profile.id = changed.profile_id;
    IF FOUND AND NOT EXISTS (SELECT FROM event AS written WHERE written.tenant_app_id = changed.tenant_app_id
      AND written.type = 'PROFILE_SYNCED' AND written.resource_id = changed.profile_id AND written.id > own AND written.id < own || 'g')
    THEN
      INSERT INTO event (tenant_app_id, type, resource_id, user_id, account_id, changed_fields)
        VALUES (changed.tenant_app_id, 'PROFILE_SYNCED', changed.profile_id, owner.user_id, owner.id, ARRAY['emails']);
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
