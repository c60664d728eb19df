-- CreateTable
CREATE TABLE "webhook" (
    "tenant_app_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "event_types" TEXT[],
    "query" TEXT,
    "description" TEXT,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "disabled_reason" TEXT,
    "key_id" TEXT NOT NULL,
    "scopes" TEXT[],
    "secret" TEXT NOT NULL,
    "previous_secret" TEXT,
    "previous_secret_until" TIMESTAMPTZ(3),
    "cursor" TEXT COLLATE "C" NOT NULL,
    "failing_since" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_pkey" PRIMARY KEY ("tenant_app_id","id")
);

-- CreateTable
CREATE TABLE "webhook_delivery" (
    "tenant_app_id" TEXT NOT NULL,
    -- Ids sort as those of events do, so that deliveries are removed with their events.
    "id" TEXT COLLATE "C" NOT NULL,
    "webhook_id" TEXT NOT NULL,
    "event_id" TEXT COLLATE "C" NOT NULL,
    "event_type" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'PENDING',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "lease_token" TEXT,
    "response_status" INTEGER,
    "error" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_delivery_pkey" PRIMARY KEY ("tenant_app_id","id")
);

-- CreateIndex
CREATE INDEX "webhook_tenant_app_id_created_at_id_idx" ON "webhook"("tenant_app_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "webhook_delivery_tenant_app_id_webhook_id_created_at_id_idx" ON "webhook_delivery"("tenant_app_id", "webhook_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "webhook_delivery_status_tenant_app_id_webhook_id_next_attem_idx" ON "webhook_delivery"("status", "tenant_app_id", "webhook_id", "next_attempt_at");

-- AddForeignKey
ALTER TABLE "webhook" ADD CONSTRAINT "webhook_tenant_app_id_fkey" FOREIGN KEY ("tenant_app_id") REFERENCES "tenant_app"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_delivery" ADD CONSTRAINT "webhook_delivery_tenant_app_id_webhook_id_fkey" FOREIGN KEY ("tenant_app_id", "webhook_id") REFERENCES "webhook"("tenant_app_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A webhook that is disabled is an event, whoever disables it. The columns that workers write more often do not fire the trigger.
CREATE FUNCTION "write_webhook_disabled"() RETURNS trigger AS $$
BEGIN
  INSERT INTO "event" ("tenant_app_id", "type", "resource_id")
  VALUES (NEW."tenant_app_id", 'WEBHOOK_DISABLED', NEW."id");
  PERFORM "announce_events"();
  RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE TRIGGER "disabled" AFTER UPDATE OF "enabled" ON "webhook"
  FOR EACH ROW WHEN (OLD."enabled" AND NOT NEW."enabled") EXECUTE FUNCTION "write_webhook_disabled"();
