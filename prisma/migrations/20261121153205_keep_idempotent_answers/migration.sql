-- CreateTable
CREATE TABLE "idempotent_answer" (
    "tenant_app_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "answer" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotent_answer_pkey" PRIMARY KEY ("tenant_app_id","id")
);

-- CreateIndex
CREATE INDEX "idempotent_answer_created_at_idx" ON "idempotent_answer"("created_at");

-- AddForeignKey
ALTER TABLE "idempotent_answer" ADD CONSTRAINT "idempotent_answer_tenant_app_id_fkey" FOREIGN KEY ("tenant_app_id") REFERENCES "tenant_app"("id") ON DELETE CASCADE ON UPDATE CASCADE;
