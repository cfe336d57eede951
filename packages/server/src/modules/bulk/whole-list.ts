/** The envelope of a list that is returned completely. */
export function wholeList<Item>(data: Item[]) {
  return { data, page: 0 as const, pageSize: data.length, hasMore: false as const, nextCursor: null };
}
