-- The tables of schema.prisma.

CREATE TABLE "Author" (
  "blogId" text NOT NULL,
  "id" text NOT NULL,
  "name" text NOT NULL,
  "email" text NOT NULL,
  "createdAt" timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY ("blogId", "id")
);

CREATE TABLE "Post" (
  "blogId" text NOT NULL,
  "id" text NOT NULL,
  "authorId" text NOT NULL,
  "title" text NOT NULL,
  "isDraft" boolean NOT NULL DEFAULT true,
  "notes" text,
  "createdAt" timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY ("blogId", "id"),
  FOREIGN KEY ("blogId", "authorId") REFERENCES "Author" ON DELETE CASCADE
);

CREATE TABLE "Comment" (
  "blogId" text NOT NULL,
  "id" text NOT NULL,
  "postId" text NOT NULL,
  "authorId" text NOT NULL,
  "text" text NOT NULL,
  "createdAt" timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY ("blogId", "id"),
  FOREIGN KEY ("blogId", "postId") REFERENCES "Post" ON DELETE CASCADE,
  FOREIGN KEY ("blogId", "authorId") REFERENCES "Author" ON DELETE CASCADE
);

CREATE INDEX ON "Post" ("blogId", "authorId");
CREATE INDEX ON "Post" ("blogId", "createdAt", "id");
CREATE INDEX ON "Comment" ("blogId", "postId");
