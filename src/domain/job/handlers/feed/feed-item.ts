/** An item of a feed, as it names itself. */
export interface FeedItem {
  readonly id?: string | undefined
  readonly link?: string | undefined
}

export interface FeedIds {
  readonly contentIds: readonly string[]
  readonly contentGroupIds: readonly string[]
  /** How many items have neither an id nor a link. Absent if all have one. */
  readonly itemsWithoutId?: number
}

/** What a feed has, in its order and with duplicates. */
export interface Feed {
  readonly items: readonly FeedItem[]
  readonly groups: readonly (string | undefined)[]
}

/**
 * The ids of a feed without duplicates. The link of an item replaces a missing id, and an id that is only a
 * placeholder.
 */
export function idsOf({ items, groups }: Feed): FeedIds {
  const placeholders = placeholdersIn(items)
  const ids = items.map(({ id, link }) => (id && !placeholders.has(id) ? id : link))
  const itemsWithoutId = ids.filter((id) => !id).length
  return { contentIds: unique(ids), contentGroupIds: unique(groups), ...(itemsWithoutId > 0 && { itemsWithoutId }) }
}

/**
 * The ids that several items have, each with a link of its own, such as `N/A`. The same item twice has the same link.
 */
function placeholdersIn(items: readonly FeedItem[]): ReadonlySet<string> {
  const placeholders = new Set<string>()
  for (const [id, sharing] of Map.groupBy(items, (item) => item.id)) {
    const links = new Set(sharing.map(({ link }) => link))
    if (id && sharing.length > 1 && links.size === sharing.length && !links.has(undefined)) placeholders.add(id)
  }
  return placeholders
}

function unique(ids: readonly (string | undefined)[]): string[] {
  return [...new Set(ids.filter((id): id is string => id !== undefined && id !== ''))]
}
