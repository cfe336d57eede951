/** The two ways to walk a list: by cursor, where `page` counts rows, and by number, where it counts pages. */
import { failureOf } from './problem.ts';
import type { AnyAnswer, AnyInput } from './types.ts';

type Ask = (input: AnyInput) => Promise<AnyAnswer>;
/** Where an operation takes its page: GET in the query, POST in the body. */
type Place = 'query' | 'body';

interface AnyPage {
  data: unknown[];
  page: number;
  hasMore: boolean;
  nextCursor: string | null;
}

/** Follows `nextCursor`, which costs the same however deep. It starts where the input says: at `page`, or at `cursor`. */
export async function* pagesByCursor(
  ask: Ask,
  place: Place,
  input: AnyInput,
): AsyncGenerator<AnyPage, void, undefined> {
  const { page, cursor, ...rest } = wanted(input, place);
  let start: Record<string, unknown> = { ...(page !== undefined && { page }), ...(cursor !== undefined && { cursor }) };
  for (;;) {
    const answer = await pageOf(ask({ ...input, [place]: { ...rest, ...start } }));
    yield answer;
    if (answer.nextCursor === null) return;
    if (answer.nextCursor === start.cursor) throw new Error(`The list does not move on from cursor ${start.cursor}.`);
    start = { cursor: answer.nextCursor };
    // The rows are counted once; counting them again on each page would cost time for the same number.
    delete rest.includeTotal;
  }
}

/** Counts pages up from the one that the input names, or from 0. */
export async function* pagesByNumber(
  ask: Ask,
  place: Place,
  input: AnyInput,
): AsyncGenerator<AnyPage, void, undefined> {
  const { page: first = 0, ...rest } = wanted(input, place);
  for (let page = Number(first); ; page++) {
    const answer = await pageOf(ask({ ...input, [place]: { ...rest, page } }));
    yield answer;
    if (!answer.hasMore) return;
    if (answer.page !== page)
      throw new Error(`The list does not move on: page ${page} was answered as ${answer.page}.`);
    delete rest.includeTotal;
  }
}

/** The rows of pages, one by one. The next page is asked for when its first row is. */
export async function* rowsOf(pages: AsyncIterable<AnyPage>): AsyncGenerator<unknown, void, undefined> {
  for await (const page of pages) yield* page.data;
}

function wanted(input: AnyInput, place: Place): Record<string, unknown> {
  const given = input[place];
  return typeof given === 'object' && given !== null ? { ...given } : {};
}

async function pageOf(answer: Promise<AnyAnswer>): Promise<AnyPage> {
  const answered = await answer;
  if (answered.ok && isPage(answered.body)) return answered.body;
  throw failureOf(answered);
}

function isPage(value: unknown): value is AnyPage {
  return (
    typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.data) && 'hasMore' in value
  );
}
