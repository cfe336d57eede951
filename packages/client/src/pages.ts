/** The ways to follow pages: by cursor, and along a feed. */
import { failureOf } from './problem.ts';
import type { AnyApiResponse, AnyInput } from './types.ts';

type RequestPage = (input: AnyInput) => Promise<AnyApiResponse>;
/** Where an operation has its page parameters: GET in the query, POST in the body. */
type Place = 'query' | 'body';

interface AnyPage {
  data: unknown[];
  /** Lists that are only paged by cursor have none. */
  page?: number;
  hasMore: boolean;
  nextCursor: string | null;
}

/**
 * Follows `nextCursor`, which takes the same time at any depth, and continues after pages that ended early. Starts at `page` or
 * `cursor` of the input.
 */
export async function* pagesByCursor(
  request: RequestPage,
  place: Place,
  input: AnyInput,
): AsyncGenerator<AnyPage, void, undefined> {
  const { page, cursor, ...rest } = membersOf(input, place);
  let start: Record<string, unknown> = { ...(page !== undefined && { page }), ...(cursor !== undefined && { cursor }) };
  for (;;) {
    const response = await pageOf(request({ ...input, [place]: { ...rest, ...start } }));
    yield response;
    if (response.nextCursor === null) {
      if (response.hasMore) throw new Error('The list has more rows, but returned no cursor to continue.');
      return;
    }
    if (response.nextCursor === start.cursor) throw new Error(`The list returned the cursor ${start.cursor} again.`);
    start = { cursor: response.nextCursor };
    // The rows are counted once; counting them again for each page would only take time.
    delete rest.includeTotal;
  }
}

/** Follows a feed from `after` of the input to its present end. Its cursor is never null: the last one is where to poll from. */
export async function* pagesOfFeed(
  request: RequestPage,
  place: Place,
  input: AnyInput,
): AsyncGenerator<AnyPage, void, undefined> {
  const members = membersOf(input, place);
  for (;;) {
    const response = await pageOf(request({ ...input, [place]: members }));
    yield response;
    if (!response.hasMore) return;
    members.after = response.nextCursor;
  }
}

/** The rows of pages, one by one. A page is requested when its first row is. */
export async function* rowsOf(pages: AsyncIterable<AnyPage>): AsyncGenerator<unknown, void, undefined> {
  for await (const page of pages) yield* page.data;
}

function membersOf(input: AnyInput, place: Place): Record<string, unknown> {
  const start = input[place];
  return typeof start === 'object' && start !== null ? { ...start } : {};
}

async function pageOf(response: Promise<AnyApiResponse>): Promise<AnyPage> {
  const received = await response;
  if (received.ok && isPage(received.body)) return received.body;
  throw failureOf(received);
}

function isPage(value: unknown): value is AnyPage {
  return (
    typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.data) && 'hasMore' in value
  );
}
