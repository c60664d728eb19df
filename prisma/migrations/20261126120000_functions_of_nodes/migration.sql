-- What must be evaluated where the rows are. A database can spread its tenants over several servers, of which one sends the statements to the
-- others: it evaluates now(), random() and settings itself, or rejects them. These functions are declared IMMUTABLE, so it leaves them in the
-- statement. Their argument is a column of the row, so no server can evaluate them before it reads the row.

-- The time of the transaction on the server of a tenant.
CREATE FUNCTION "node_now"("tenant_app_id" text) RETURNS timestamptz AS $$ BEGIN
  RETURN now();
END $$ LANGUAGE plpgsql IMMUTABLE;

CREATE FUNCTION "node_random"("tenant_app_id" text) RETURNS double precision AS $$ BEGIN
  RETURN random();
END $$ LANGUAGE plpgsql IMMUTABLE;

CREATE FUNCTION "node_uuid"("tenant_app_id" text) RETURNS text AS $$ BEGIN
  RETURN gen_random_uuid();
END $$ LANGUAGE plpgsql IMMUTABLE;

-- The prefix of the events of the transaction on the server of a tenant.
CREATE FUNCTION "node_prefix"("tenant_app_id" text) RETURNS text SET search_path = public, pg_temp AS $$ BEGIN
  RETURN "transaction_prefix"();
END $$ LANGUAGE plpgsql IMMUTABLE;

-- All events of a tenant with smaller ids are visible: their transactions have ended.
CREATE FUNCTION "node_complete"("tenant_app_id" text) RETURNS text SET search_path = public, pg_temp AS $$ BEGIN
  RETURN (SELECT "complete" FROM "event_horizon"());
END $$ LANGUAGE plpgsql IMMUTABLE;

-- Lets the triggers of a write know its actor (src/engine/db/actor.ts).
CREATE FUNCTION "set_actor"("actor" text, "tenant_app_id" text) RETURNS boolean AS $$ BEGIN
  PERFORM set_config('fusion.actor', actor, true);
  RETURN true;
END $$ LANGUAGE plpgsql IMMUTABLE;
