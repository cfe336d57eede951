import { describe, expect, it } from 'vitest';
import { judgedPosts, type Post } from './corpus.ts';

/**
 * The plan of 30 public documents, each of whose POSTs a person has classed: R reads, C creates and changes nothing else,
 * A acts on what its path names, X does something else, such as to send a message, or updates what exists.
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
  it('in 20 documents read, create, or act on what the run created, except where all words are those of a creation', async () => {
    expect(await called('known.tsv')).toEqual({
      ...{ documents: 20, posts: 759, called: 207, right: 178, own: 21 },
      wrong: [
        'intercom /ai/external_pages',
        'intercom /events',
        'intercom /tags',
        'lago /customers',
        // Only below an account that the run created.
        'twilio-api /2010-04-01/Accounts/{AccountSid}/IncomingPhoneNumbers/Local.json',
        'twilio-api /2010-04-01/Accounts/{AccountSid}/IncomingPhoneNumbers/Mobile.json',
        'twilio-api /2010-04-01/Accounts/{AccountSid}/IncomingPhoneNumbers/TollFree.json',
        'twilio-api /2010-04-01/Accounts/{AccountSid}/OutgoingCallerIds.json',
      ],
    });
  });

  it('in 10 documents that were not read for the rules, too, with twelve exceptions', async () => {
    const { wrong, ...counts } = await called('held-out.tsv');
    expect(counts).toEqual({ documents: 10, posts: 602, called: 283, right: 226, own: 45 });
    expect(wrong).toEqual([
      'pagerduty /incidents',
      'pagerduty /ip_allow_lists',
      'twilio-verify /v2/Services/{ServiceSid}/Entities/{Identity}/Challenges',
      'sendgrid /user/scheduled_sends',
      'sendgrid /access_settings/whitelist',
      'sendgrid /teammates',
      'sendgrid /ips/warmup',
      'sendgrid /ips',
      'sendgrid /verified_senders',
      'sendgrid /senders',
      'sendgrid /messages/download',
      'sendgrid /asm/suppressions/global',
    ]);
  });
});
