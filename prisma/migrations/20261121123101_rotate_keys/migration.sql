-- AlterTable
ALTER TABLE "api_key" ADD COLUMN     "successor_id" TEXT;
