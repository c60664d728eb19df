import type { ViewerClient } from '@fusion-gateway/prisma-trees'

/** Reads the newest posts with their authors, tags and first comments: one statement. */
export function newestPosts(db: ViewerClient, search: string) {
  return db.post.findMany({
    where: { status: 'PUBLISHED', title: { contains: search, mode: 'insensitive' } },
    orderBy: { createdAt: 'desc' },
    take: 20,
    select: {
      title: true,
      author: { select: { name: true } },
      tags: { select: { tag: { select: { name: true } } } },
      comments: { orderBy: { createdAt: 'asc' }, take: 3, select: { text: true, author: { select: { name: true } } } },
    },
  })
}

/** Gives each post its own title: one statement. Returns null for a post that does not exist, or has changed since. */
export function retitle(db: ViewerClient, posts: readonly { id: string; title: string; updatedAt: Date }[]) {
  return db.post.updateEach(posts.map(({ id, title, updatedAt }) => ({ where: { id, updatedAt }, data: { title } })))
}
