-- AlterTable
ALTER TABLE "api_key" ADD COLUMN     "creator_id" TEXT,
ADD COLUMN     "points_per_minute" INTEGER;
