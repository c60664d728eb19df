-- When the log was last announced, in milliseconds. A sequence, because other transactions see its value at once.
CREATE SEQUENCE "event_announced";
-- Roles that write rows have privileges on tables only.
GRANT USAGE, UPDATE ON SEQUENCE "event_announced" TO PUBLIC;

-- Tells the processes that follow the log, at most once in 10 milliseconds: each announcement wakes all of them. They wait for as long before they
-- read, and read again after longer and longer pauses, so they find what was not announced (src/domain/event/event-feed.ts). If the clock was
-- set back, the log is announced too.
CREATE OR REPLACE FUNCTION "announce_events"() RETURNS boolean AS $$
  SELECT abs((date_part('epoch', clock_timestamp()) * 1000)::bigint - coalesce(pg_sequence_last_value('event_announced'), 0)) > 10
    AND setval('event_announced', (date_part('epoch', clock_timestamp()) * 1000)::bigint) IS NOT NULL
    AND pg_notify('event_written', '') IS NOT NULL
$$ LANGUAGE sql;
