-- For indexes that find parts of texts within a tenant. Both extensions are trusted: the owner of the database may create them.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- CreateEnum
CREATE TYPE "account_status" AS ENUM ('CONNECTED', 'EXPIRED', 'DISCONNECTED');

-- AlterTable
ALTER TABLE "account" ADD COLUMN     "status" "account_status" NOT NULL DEFAULT 'CONNECTED';

-- AlterTable
ALTER TABLE "profile" ADD COLUMN     "synced_at" TIMESTAMPTZ(3),
ADD COLUMN     "unsupported_fields" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[];
