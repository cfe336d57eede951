import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RunningLibrary, startLibrary } from '../../../../test/doubles/library.ts';
import { isEveryDriftTested, sampleOf } from '../../../../test/sample.ts';
import { OpenApiDocument } from '../../../document/document.ts';
import type { Finding } from '../../../finding/finding.ts';
import { KnownRequests } from '../../../run/known-requests.ts';
import { Session } from '../../../run/session.ts';
import { checkResources } from './resources.ts';

let library: RunningLibrary;
let document: OpenApiDocument;

beforeAll(async () => {
  library = await startLibrary();
  document = await OpenApiDocument.load(library.spec);
});
beforeEach(() => library.reset());
afterAll(() => library.close());

const auth = { caller: () => ({ authorization: 'Bearer a' }), otherTenant: () => ({ authorization: 'Bearer b' }) };

async function findings(seed: number, ...flaws: readonly string[]): Promise<Finding[]> {
  const session = new Session(document, library.url, { spec: library.spec, auth, seed, disposable: true });
  await session.identities.signIn();
  const requests = new KnownRequests(session);
  await requests.find(() => undefined);
  for (const flaw of flaws) library.flaws.add(flaw);
  await checkResources({ session, requests, onProgress: () => undefined });
  await session.transport.close();
  return session.registry.findings();
}

describe('a correct server', () => {
  it('has no findings, whatever the seed', async () => {
    for (let seed = 1; seed <= (isEveryDriftTested ? 4 : 1); seed += 1) {
      library.reset();
      expect(await findings(seed), `seed ${seed}`).toEqual([]);
    }
  });
});

describe('a server with a defect', () => {
  const flaws: Readonly<Record<string, readonly string[]>> = {
    'create-lost': [
      ...['create not stored', 'subtitle lost', 'same id', 'response with another id', 'put not stored', 'height lost'],
    ],
    'create-echo': ['response with another title'],
    'create-default': ['default of another genre', 'default null', 'chapters are drafts'],
    'create-not-listed': ['new ones not listed'],
    location: ['location nowhere', 'location of another'],
    'list-hides': ['list from cache'],
    'read-disagrees': ['read with another genre', 'list with another title'],
    'read-unknown': ['unknown is 200'],
    'read-another': ['every id is the first'],
    'update-lost': [
      'change not stored',
      'pages not changed',
      'null ignored',
      'changes another instead',
      'replacement not stored',
    ],
    'update-echo': ['change returns previous row'],
    'update-others': ['PATCH resets', 'PATCH clears', 'createdAt moves'],
    'update-timestamp': ['version stays'],
    'delete-lost': ['delete does nothing'],
    'etag-response': ['change returns old etag'],
    'if-none-match': ['never 304'],
    'if-match-rejected': ['If-Match always fails', 'etag constant', 'etag from the clock'],
    'if-match-ignored': ['If-Match ignored', 'DELETE ignores If-Match'],
    'if-match-stored': ['stale is stored'],
    'action-lost': ['lending is not stored'],
    'if-match-status': ['stale is a conflict'],
    'key-another': ['key ignored', 'all keys are one', 'replay with another id'],
    'key-rejected': ['replay is a conflict'],
    'tenant-reads': ['other tenant reads'],
    'tenant-lists': ['other tenant lists'],
    'tenant-changes': ['other tenant changes'],
    'tenant-deletes': ['other tenant deletes'],
    'unique-ignored': ['name twice', 'change to a used name'],
    'bulk-results': ['one result missing', 'every index is 0'],
    'bulk-lost': ['results reversed', 'last item not stored', 'items get the note of the first'],
  };
  const table = Object.entries(flaws).flatMap(([check, names]) => names.map((name) => [name, check] as const));

  it('has a finding for each property that is not stored as sent', async () => {
    const found = await findings(
      7,
      ...['title in capitals', 'subtitle lost', 'price rounded', 'inPrint ignored', 'last tag lost', 'city lost'],
      ...['chapters reversed', 'day before'],
    );
    const { title } = found.find(({ check, operation }) => check === 'create-lost' && operation === 'createBook') ?? {};
    expect(title?.split(': ')[1]?.split(', ').toSorted()).toEqual([
      'chapters.*.name',
      'inPrint',
      'price',
      'publishedOn',
      'publisher.city',
      'subtitle',
      'tags',
      'title',
    ]);
  });

  it.each(sampleOf(table, 56))('%s is found as %s', async (flaw, check) => {
    const found = await findings(7, flaw);
    expect(found.map((one) => one.check)).toContain(check);
    // Creations that return the same resource change no other one.
    if (check === 'create-lost') expect(found.map((one) => one.check)).not.toContain('unrelated-change');
    for (const finding of found) expect(finding.exchanges.length).toBeGreaterThan(0);
  });
});
