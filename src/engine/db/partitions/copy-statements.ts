import { statement } from '../statement.ts'

// PostgreSQL generates the scripts of the conversion from its catalog, so the copies also have the indexes that an operator has added. It
// does not qualify names of the schema in `search_path`. With the schema of the copies first, the same text applies to the copies.

/** Writes the script that creates the copies, and their partitions: `user_p00` to `user_p15`. Parameters: the tables and the modulus. */
export const writeCreation = statement(`
  WITH original AS (SELECT *, quote_ident(relname) AS name FROM pg_class WHERE oid = ANY ($1::text[]::regclass[])),
  partition AS (SELECT *, quote_ident(relname || '_p' || lpad(i::text, length(($2::int - 1)::text), '0')) AS partition
    FROM original, generate_series(0, $2::int - 1) AS i)
  SELECT string_agg(text, E';\\n' ORDER BY position, text) FROM (
    SELECT 1, format('CREATE TABLE %1$s (LIKE %2$I.%1$s INCLUDING ALL EXCLUDING INDEXES) PARTITION BY HASH (tenant_app_id)',
      name, current_schema()) FROM original
    UNION ALL SELECT 2, format('CREATE TABLE %s PARTITION OF %s FOR VALUES WITH (MODULUS %s, REMAINDER %s)', partition, name, $2, i)
      FROM partition
    UNION ALL SELECT 3, format('ALTER TABLE %s OWNER TO %s', name, relowner::regrole) FROM original
    UNION ALL SELECT 3, format('ALTER TABLE %s OWNER TO %s', partition, relowner::regrole) FROM partition
    UNION ALL SELECT 4, format('GRANT %s ON %s TO %s%s', privilege_type, name,
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END,
      CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) FROM original, aclexplode(relacl)
  ) AS step (position, text)`)

/** Writes the script that creates the indexes, foreign keys and triggers of the copies. Parameter: the tables. */
export const writeCompletion = statement(`
  WITH original AS (SELECT oid, quote_ident(relname) AS name FROM pg_class WHERE oid = ANY ($1::text[]::regclass[]))
  SELECT string_agg(text, E';\\n' ORDER BY position, text) FROM (
    SELECT CASE contype WHEN 'p' THEN 1 ELSE 3 END,
      format('ALTER TABLE %s ADD CONSTRAINT %I %s', name, conname, pg_get_constraintdef(c.oid, true))
      FROM pg_constraint c JOIN original ON original.oid = conrelid WHERE contype IN ('p', 'f')
    UNION ALL SELECT 2, pg_get_indexdef(indexrelid, 0, true)
      FROM pg_index JOIN original ON original.oid = indrelid WHERE NOT indisprimary
    UNION ALL SELECT 4, pg_get_triggerdef(t.oid, true)
      FROM pg_trigger t JOIN original ON original.oid = tgrelid WHERE NOT tgisinternal
  ) AS step (position, text)`)
