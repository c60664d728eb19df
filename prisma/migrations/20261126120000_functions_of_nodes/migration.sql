-- What must be evaluated where the rows are. A database can spread its tenants over several servers, of which one sends the statements to the
-- others: it evaluates now(), random() and settings itself, or rejects them. These functions are declared IMMUTABLE, so it leaves them in the
-- statement. Their argument is a column of the row, so no server can evaluate them before it reads the row.

-- The time of the transaction on the server of a tenant, in milliseconds, as columns hold it.
CREATE FUNCTION "node_now"("tenant_app_id" text) RETURNS timestamptz AS $$ BEGIN
  RETURN date_trunc('milliseconds', now());
END $$ LANGUAGE plpgsql IMMUTABLE;

-- Some seconds after that.
CREATE FUNCTION "node_later"("tenant_app_id" text, "seconds" double precision) RETURNS timestamptz AS $$ BEGIN
  RETURN now() + make_interval(secs => "seconds");
END $$ LANGUAGE plpgsql IMMUTABLE;

-- The error of an attempt of a job that fails now.
CREATE FUNCTION "node_error"("tenant_app_id" text, "code" text, "message" text, "attempt" integer) RETURNS json AS $$ BEGIN
  RETURN json_build_object('code', "code", 'message', "message", 'attempt', "attempt",
    'at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
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
