-- Announces changes of rows that have no event, for live queries (src/domain/event/live-changes.ts): jobs that are removed, and everything about
-- webhooks. A notification has the table and the tenant. PostgreSQL sends equal ones of a transaction once.
CREATE FUNCTION "announce_changed_rows"() RETURNS trigger SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM pg_notify('rows_changed', TG_TABLE_NAME || ' ' || changed."tenant_app_id")
  FROM (SELECT DISTINCT "tenant_app_id" FROM changed_rows) AS changed;
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE TRIGGER "announce_deletion" AFTER DELETE ON "job" REFERENCING OLD TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "announce_changed_rows"();

CREATE TRIGGER "announce_insert" AFTER INSERT ON "webhook" REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "announce_changed_rows"();
CREATE TRIGGER "announce_update" AFTER UPDATE ON "webhook" REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "announce_changed_rows"();
CREATE TRIGGER "announce_deletion" AFTER DELETE ON "webhook" REFERENCING OLD TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "announce_changed_rows"();

CREATE TRIGGER "announce_insert" AFTER INSERT ON "webhook_delivery" REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "announce_changed_rows"();
CREATE TRIGGER "announce_update" AFTER UPDATE ON "webhook_delivery" REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "announce_changed_rows"();
CREATE TRIGGER "announce_deletion" AFTER DELETE ON "webhook_delivery" REFERENCING OLD TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION "announce_changed_rows"();
