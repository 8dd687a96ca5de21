// Paged lists.

import { callOf, type CallOptions, type Connection, type Query } from "./connection.js";

const LARGEST_PAGE = 200;

/** The first `limit` items of all pages; all items if it is undefined. */
export async function pages<Item>(
  connection: Connection,
  path: string,
  name: string,
  options: CallOptions,
  query: Query,
  limit: number = Number.POSITIVE_INFINITY,
): Promise<Item[]> {
  const found: Item[] = [];
  let cursor: string | undefined;
  while (found.length < limit) {
    const page = await connection.json<Record<string, Item[]> & { next_cursor: string | null }>("GET", path, { [name]: "objects" }, {
      ...callOf(options),
      query: { ...query, limit: Math.min(limit - found.length, LARGEST_PAGE), cursor },
    });
    const items = page[name] ?? [];
    for (const item of items) found.push(item);
    // An empty page with a cursor would loop forever.
    if (typeof page.next_cursor !== "string" || items.length === 0) break;
    cursor = page.next_cursor;
  }
  return found;
}
