-- The row of a job holds all that delivers it: state, run_at, attempts and lease. Version 0.1.0 wrote the same facts to a
-- queue library's schema in the same transactions, so waiting and running jobs go on from their rows.
DROP SCHEMA IF EXISTS "pgboss" CASCADE;
