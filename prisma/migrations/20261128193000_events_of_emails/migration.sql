-- Emails are a part of their profile, which has one event per transaction. A user or an account can have the id of the profile, so the event of
-- another type does not count. The ids of this transaction's events begin with its prefix, and go on with hexadecimal digits, which are less than g.
-- Later transactions can have written events with greater ids. On partitioned tables, a transaction with an older snapshot can write an email of a
-- profile that it does not see.
CREATE OR REPLACE FUNCTION "write_email_events"() RETURNS trigger SET search_path = public, pg_temp AS $$
DECLARE
  own text := "transaction_prefix"();
BEGIN
  IF TG_OP = 'UPDATE' THEN
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT email."tenant_app_id", 'PROFILE_SYNCED', email."profile_id", account."user_id", account."id"
    FROM (
      SELECT DISTINCT "tenant_app_id", "profile_id" FROM (
        (TABLE changed_rows EXCEPT TABLE old_rows) UNION ALL (TABLE old_rows EXCEPT TABLE changed_rows)) AS different OFFSET 0
    ) AS email
    LEFT JOIN "profile" ON profile."tenant_app_id" = email."tenant_app_id" AND profile."id" = email."profile_id"
    LEFT JOIN "account" ON account."tenant_app_id" = email."tenant_app_id" AND account."id" = profile."account_id"
    WHERE NOT EXISTS (
      SELECT FROM "event" AS written
      WHERE written."tenant_app_id" = email."tenant_app_id" AND written."type" = 'PROFILE_SYNCED'
        AND written."resource_id" = email."profile_id" AND written."id" > own AND written."id" < own || 'g'
    );
  ELSE
    INSERT INTO "event" ("tenant_app_id", "type", "resource_id", "user_id", "account_id")
    SELECT email."tenant_app_id", 'PROFILE_SYNCED', email."profile_id", account."user_id", account."id"
    FROM (SELECT DISTINCT "tenant_app_id", "profile_id" FROM changed_rows OFFSET 0) AS email
    LEFT JOIN "profile" ON profile."tenant_app_id" = email."tenant_app_id" AND profile."id" = email."profile_id"
    LEFT JOIN "account" ON account."tenant_app_id" = email."tenant_app_id" AND account."id" = profile."account_id"
    WHERE (account."id" IS NOT NULL OR TG_OP <> 'DELETE') AND NOT EXISTS (
      SELECT FROM "event" AS written
      WHERE written."tenant_app_id" = email."tenant_app_id" AND written."type" = 'PROFILE_SYNCED'
        AND written."resource_id" = email."profile_id" AND written."id" > own AND written."id" < own || 'g'
    );
  END IF;
  IF FOUND THEN PERFORM "announce_events"(); END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;
