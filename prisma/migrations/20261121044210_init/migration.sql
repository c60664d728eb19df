-- The schema "public" exists. `CREATE SCHEMA IF NOT EXISTS` would need CREATE on the database all the same.

-- CreateEnum
CREATE TYPE "job_status" AS ENUM ('PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED');

-- CreateTable
CREATE TABLE "tenant_app" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "tenant_app_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_key" (
    "tenant_app_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "scopes" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("tenant_app_id","id")
);

-- CreateTable
CREATE TABLE "user" (
    "tenant_app_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "phone" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "user_pkey" PRIMARY KEY ("tenant_app_id","id")
);

-- CreateTable
CREATE TABLE "account" (
    "tenant_app_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "platform" TEXT NOT NULL,
    "platform_account_id" TEXT NOT NULL,
    "display_name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "account_pkey" PRIMARY KEY ("tenant_app_id","id")
);

-- CreateTable
CREATE TABLE "profile" (
    "tenant_app_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "platform" TEXT NOT NULL,
    "platform_account_id" TEXT NOT NULL,
    "username" TEXT,
    "url" TEXT,
    "gender" TEXT,
    "full_name" TEXT,
    "first_name" TEXT,
    "last_name" TEXT,
    "nick_name" TEXT,
    "display_name" TEXT,
    "description" TEXT,
    "profile_picture_url" TEXT,
    "date_of_birth" DATE,
    "category" TEXT,
    "website_url" TEXT,
    "country" TEXT,
    "phone_numbers" JSON NOT NULL DEFAULT '[]',
    "addresses" JSON NOT NULL DEFAULT '[]',
    "followers_count" BIGINT,
    "following_count" BIGINT,
    "subscribers_count" BIGINT,
    "contents_count" BIGINT,
    "watch_time_in_hours" DOUBLE PRECISION,
    "joined_at" TIMESTAMPTZ(3),
    "verified" BOOLEAN,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "profile_pkey" PRIMARY KEY ("tenant_app_id","id")
);

-- CreateTable
CREATE TABLE "email_record" (
    "tenant_app_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "profile_id" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "type" TEXT,
    "is_verified" BOOLEAN NOT NULL DEFAULT false,
    "is_primary" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "email_record_pkey" PRIMARY KEY ("tenant_app_id","id")
);

-- CreateTable
CREATE TABLE "job" (
    "tenant_app_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "status" "job_status" NOT NULL DEFAULT 'PENDING',
    "job_type" TEXT,
    "payload" JSON,
    "result" JSON,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "job_pkey" PRIMARY KEY ("tenant_app_id","id")
);

-- CreateIndex
CREATE UNIQUE INDEX "tenant_app_name_key" ON "tenant_app"("name");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_hash_key" ON "api_key"("hash");

-- CreateIndex
CREATE INDEX "user_tenant_app_id_created_at_id_idx" ON "user"("tenant_app_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "account_tenant_app_id_user_id_idx" ON "account"("tenant_app_id", "user_id");

-- CreateIndex
CREATE UNIQUE INDEX "account_tenant_app_id_platform_platform_account_id_key" ON "account"("tenant_app_id", "platform", "platform_account_id");

-- CreateIndex
CREATE UNIQUE INDEX "profile_tenant_app_id_account_id_key" ON "profile"("tenant_app_id", "account_id");

-- CreateIndex
CREATE INDEX "email_record_tenant_app_id_profile_id_idx" ON "email_record"("tenant_app_id", "profile_id");

-- AddForeignKey
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_tenant_app_id_fkey" FOREIGN KEY ("tenant_app_id") REFERENCES "tenant_app"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "user" ADD CONSTRAINT "user_tenant_app_id_fkey" FOREIGN KEY ("tenant_app_id") REFERENCES "tenant_app"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "account" ADD CONSTRAINT "account_tenant_app_id_user_id_fkey" FOREIGN KEY ("tenant_app_id", "user_id") REFERENCES "user"("tenant_app_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "profile" ADD CONSTRAINT "profile_tenant_app_id_account_id_fkey" FOREIGN KEY ("tenant_app_id", "account_id") REFERENCES "account"("tenant_app_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "email_record" ADD CONSTRAINT "email_record_tenant_app_id_profile_id_fkey" FOREIGN KEY ("tenant_app_id", "profile_id") REFERENCES "profile"("tenant_app_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "job" ADD CONSTRAINT "job_tenant_app_id_fkey" FOREIGN KEY ("tenant_app_id") REFERENCES "tenant_app"("id") ON DELETE CASCADE ON UPDATE CASCADE;
