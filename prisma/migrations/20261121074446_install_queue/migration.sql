-- Version 0.1.0 installed the tables of a queue library here. The rows of jobs have replaced them
-- (20261122000000_jobs_without_queue), so a new database never gets them.
SELECT 1;
