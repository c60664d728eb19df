-- AlterTable
ALTER TABLE "webhook" ADD COLUMN     "paused_until" TIMESTAMPTZ(3);
