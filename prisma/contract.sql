-- What only gateways of the previous release need. `migrate deploy --contract` drops it when none of them runs; the next release moves these
-- statements into a migration. New databases are without it.

-- Gateways of version 0.2.0 need nothing that this version does not.
