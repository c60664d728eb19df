-- The numbers of profiles over time: a row of a profile and a day in UTC has the last numbers of the day, and there is one only if a number differs
-- from those of the row before.
CREATE TABLE "profile_metric" (
    "tenant_app_id" TEXT NOT NULL,
    "profile_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "followers_count" BIGINT,
    "following_count" BIGINT,
    "subscribers_count" BIGINT,
    "contents_count" BIGINT,
    "watch_time_in_hours" DOUBLE PRECISION,

    CONSTRAINT "profile_metric_pkey" PRIMARY KEY ("tenant_app_id","profile_id","day")
);

CREATE INDEX "profile_metric_tenant_app_id_day_idx" ON "profile_metric"("tenant_app_id", "day");

ALTER TABLE "profile_metric" ADD CONSTRAINT "profile_metric_tenant_app_id_profile_id_fkey" FOREIGN KEY ("tenant_app_id", "profile_id") REFERENCES "profile"("tenant_app_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Writes the rows of the profiles whose numbers a statement has written, so that no writer can leave them out. The day is that of the
-- synchronization; a change without one is of now. It is no function of the event log, and a row of it has no event: the profile has one.
CREATE FUNCTION "write_profile_metrics"() RETURNS trigger SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "profile_metric" ("tenant_app_id", "profile_id", "day",
      "followers_count", "following_count", "subscribers_count", "contents_count", "watch_time_in_hours")
    SELECT "tenant_app_id", "id", (least("synced_at", now()) AT TIME ZONE 'UTC')::date,
      "followers_count", "following_count", "subscribers_count", "contents_count", "watch_time_in_hours"
    FROM new_rows
    WHERE num_nonnulls("followers_count", "following_count", "subscribers_count", "contents_count", "watch_time_in_hours") > 0;
  ELSE
    INSERT INTO "profile_metric" ("tenant_app_id", "profile_id", "day",
      "followers_count", "following_count", "subscribers_count", "contents_count", "watch_time_in_hours")
    SELECT present."tenant_app_id", present."id",
      (CASE WHEN present."synced_at" = former."synced_at" THEN now() ELSE least(present."synced_at", now()) END AT TIME ZONE 'UTC')::date,
      present."followers_count", present."following_count", present."subscribers_count", present."contents_count", present."watch_time_in_hours"
    FROM new_rows AS present JOIN old_rows AS former ON former."tenant_app_id" = present."tenant_app_id" AND former."id" = present."id"
    WHERE (present."followers_count", present."following_count", present."subscribers_count", present."contents_count", present."watch_time_in_hours")
      IS DISTINCT FROM (former."followers_count", former."following_count", former."subscribers_count", former."contents_count", former."watch_time_in_hours")
    ON CONFLICT ("tenant_app_id", "profile_id", "day") DO UPDATE SET
      "followers_count" = excluded."followers_count", "following_count" = excluded."following_count",
      "subscribers_count" = excluded."subscribers_count", "contents_count" = excluded."contents_count",
      "watch_time_in_hours" = excluded."watch_time_in_hours";
  END IF;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE TRIGGER "metrics_inserted" AFTER INSERT ON "profile" REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_profile_metrics"();
CREATE TRIGGER "metrics_updated" AFTER UPDATE ON "profile" REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "write_profile_metrics"();
