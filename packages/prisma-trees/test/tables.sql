-- The tables of schema.prisma, and the indexes that lists and searches use.

CREATE TYPE "PostStatus" AS ENUM ('DRAFT', 'PUBLISHED', 'ARCHIVED');

CREATE TABLE "Author" (
  "blogId" text NOT NULL,
  "id" text NOT NULL,
  "name" text NOT NULL,
  "email" text,
  "createdAt" timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "bornOn" date,
  PRIMARY KEY ("blogId", "id")
);

CREATE TABLE "Post" (
  "blogId" text NOT NULL,
  "id" text NOT NULL,
  "authorId" text NOT NULL,
  "reviewerId" text,
  "title" text NOT NULL,
  "status" "PostStatus" NOT NULL DEFAULT 'DRAFT',
  "views" bigint,
  "rating" double precision NOT NULL DEFAULT 0,
  "is_pinned" boolean NOT NULL DEFAULT false,
  "labels" text[],
  "scores" integer[],
  "reads" bigint[],
  "meta" jsonb,
  "createdAt" timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "changed_at" timestamptz(3) NOT NULL,
  PRIMARY KEY ("blogId", "id"),
  FOREIGN KEY ("blogId", "authorId") REFERENCES "Author" ON DELETE CASCADE,
  FOREIGN KEY ("blogId", "reviewerId") REFERENCES "Author"
);

CREATE TABLE "comment" (
  "blogId" text NOT NULL,
  "id" text NOT NULL,
  "postId" text NOT NULL,
  "authorId" text NOT NULL,
  "replyToId" text,
  "text" text NOT NULL,
  "createdAt" timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY ("blogId", "id"),
  FOREIGN KEY ("blogId", "postId") REFERENCES "Post" ON DELETE CASCADE,
  FOREIGN KEY ("blogId", "authorId") REFERENCES "Author" ON DELETE CASCADE,
  FOREIGN KEY ("blogId", "replyToId") REFERENCES "comment" ON DELETE CASCADE
);

CREATE TABLE "Tag" (
  "blogId" text NOT NULL,
  "id" text NOT NULL,
  "name" text NOT NULL,
  PRIMARY KEY ("blogId", "id")
);

CREATE TABLE "PostTag" (
  "blogId" text NOT NULL,
  "id" text NOT NULL,
  "postId" text NOT NULL,
  "tagId" text NOT NULL,
  PRIMARY KEY ("blogId", "id"),
  UNIQUE ("blogId", "postId", "tagId"),
  FOREIGN KEY ("blogId", "postId") REFERENCES "Post" ON DELETE CASCADE,
  FOREIGN KEY ("blogId", "tagId") REFERENCES "Tag" ON DELETE CASCADE
);

CREATE INDEX ON "Post" ("blogId", "authorId");
CREATE INDEX ON "comment" ("blogId", "postId");

-- Lists by the time of creation.
CREATE INDEX ON "Post" ("blogId", "createdAt", "id");

-- `/// @index prefix`: a text can be longer than an entry of an index.
CREATE INDEX ON "Author" ("blogId", left("name", 200), "id");

-- `/// @index nullsLast`: rows without a number come last in both directions, so each has an index.
CREATE INDEX ON "Post" ("blogId", coalesce("views", 9007199254740992), "id");
CREATE INDEX ON "Post" ("blogId", coalesce("views", -1), "id");

-- Searches with `mode: 'insensitive'`.
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX ON "Post" USING gin (("blogId" || ''), search_fold("title") gin_trgm_ops);
