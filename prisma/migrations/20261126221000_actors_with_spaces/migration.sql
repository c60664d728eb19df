-- The actor of a write is the name of a key and the id of a request, which has no space. The name of a trusted issuer has: it ends with the tenant's id.
CREATE OR REPLACE FUNCTION "actor_key"() RETURNS text AS $$
  SELECT substring(current_setting('fusion.actor', true) from '^(.+) [^ ]*$')
$$ LANGUAGE sql STABLE;

CREATE OR REPLACE FUNCTION "actor_request"() RETURNS text AS $$
  SELECT substring(current_setting('fusion.actor', true) from ' ([^ ]+)$')
$$ LANGUAGE sql STABLE;

-- Until now the tenant's id was stored as the request of these events. The ids of their requests were not stored.
UPDATE "event" SET "key_id" = "key_id" || ' ' || "request_id", "request_id" = NULL
WHERE "request_id" = "tenant_app_id" AND "key_id" NOT LIKE 'key\_%';
