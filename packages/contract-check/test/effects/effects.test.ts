import { describe, expect, it } from 'vitest';
import { judgedPosts, type Post } from './corpus.ts';

/**
 * The plan of 35 public documents, each of whose POSTs a person has classed before the first run: R reads, C creates and changes nothing
 * else, A acts on what its path names, X does something else, such as to send a message, or updates what exists. That run of the last five
 * called 10 of 383 that do more than to create, and none that changes what existed; the rules have been extended since.
 */
async function called(table: string) {
  const documents = await judgedPosts(table);
  const posts = documents.flatMap(({ document, posts: own }) => own.map((post) => ({ document, ...post })));
  const isCalled = ({ entry }: Post) => entry.skipped === undefined;
  const isRight = ({ class: kind, entry }: Post) =>
    entry.effect === (kind === 'R' ? 'read' : kind === 'C' ? 'create' : '');
  // Without `disposable`, what is below a resource is called only if the run created that.
  const isOfOwn = ({ class: kind, path, entry }: Post) =>
    path.includes('{') && (kind === 'A' || entry.effect === 'change own');
  return {
    documents: documents.length,
    posts: posts.length,
    called: posts.filter(isCalled).length,
    right: posts.filter((post) => isCalled(post) && isRight(post)).length,
    own: posts.filter((post) => isCalled(post) && isOfOwn(post)).length,
    wrong: posts
      .filter((post) => isCalled(post) && !isRight(post) && !isOfOwn(post))
      .map(({ document, path }) => `${document} ${path}`),
  };
}

describe('the operations that are called without --disposable', () => {
  it.each([
    ['20 documents', 'known.tsv', { documents: 20, posts: 759, called: 175, right: 161, own: 14, wrong: [] }],
    ['10 other documents', 'held-out.tsv', { documents: 10, posts: 602, called: 252, right: 210, own: 42, wrong: [] }],
    ['5 documents', 'fresh.tsv', { documents: 5, posts: 383, called: 102, right: 97, own: 5, wrong: [] }],
  ])('in %s read, create, or act on what the run created, and nothing else', async (_, table, expected) => {
    expect(await called(table)).toEqual(expected);
  });
});
