import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { usersOf, wordsFor } from '../../packages/openapi-breaking/src/index.ts';
import { bundleOf } from '../../packages/openapi-breaking/test/sample.ts';
import { releasesOf } from './changelog.ts';
import { allowedIn, withoutEntries } from './files.ts';
import { type Allowed, complaints, type Gate } from './gate.ts';

const bundle = bundleOf([{}, {}]);
const found = { rule: 'default-changed', at: '#/components/parameters/PageSizeN000/schema/default', says: 'Other.' };
const allowed: Allowed = { ...found, reason: 'It was too much.', changelog: 'getStaffN000' };
const added = '### Added\n\n- Something.\n';
const announced = '### Breaking changes\n\n- `getStaffN000` gives fewer rows.\n';

function judged({ others = [], breaks = [], ...rest }: Partial<Gate & Gate['comparison']>, groups = ''): string[] {
  return complaints({
    comparison: { breaks, others },
    additions: [],
    allowed: [],
    releases: releasesOf(`# Changelog\n\n## Unreleased\n\n${groups}\n## v1.0.0 – 2026-01-31\n`),
    releasedVersion: 'v1.0.0',
    usersOf: (at) => usersOf(bundle, at),
    wordsFor: (at) => wordsFor(bundle, at),
    ...rest,
  });
}

describe('the gate accepts', () => {
  test('the released contract', () => expect(judged({})).toEqual([]));
  test('a change with a changelog entry', () => expect(judged({ others: [found.at] }, added)).toEqual([]));
  test('additions that entries name', () => {
    const additions = [
      { name: 'nickname', at: '#/a', of: 'ClientFields' },
      { name: 'getClientNames', at: '#/b' },
    ];
    const groups = '### Added\n\n- `nickname` of clients.\n- `getClientNames` lists them.\n';
    expect(judged({ additions }, groups)).toEqual([]);
  });
  test('a property of many schemas that an entry names', () => {
    const additions = ['A', 'B', 'C', 'D', 'E'].map((of) => ({ name: 'metadata', at: `#/${of}`, of: `${of}Page` }));
    const groups = '### Added\n\n- `metadata` of all rows.\n';
    expect(judged({ additions }, groups)).toEqual([]);
    expect(judged({ additions: additions.slice(1) }, groups)).toHaveLength(4);
  });
  test('a break that is allowed and has a changelog entry', () => {
    expect(judged({ breaks: [found], allowed: [allowed] }, announced)).toEqual([]);
  });
  test.each(['/N000/staff/{id}', 'PageSizeN000'])('a break with a changelog entry for %s', (changelog) => {
    const words = announced.replace('getStaffN000', changelog);
    expect(judged({ breaks: [found], allowed: [{ ...allowed, changelog }] }, words)).toEqual([]);
  });

  test('several breaks that one entry allows, with * for any text', () => {
    const other = { ...found, at: found.at.replace('/default', '/maximum'), says: 'Another other.' };
    const every = { ...allowed, at: '#/components/parameters/PageSizeN000/schema/*', says: '*ther.' };
    expect(judged({ breaks: [found, other], allowed: [every] }, announced)).toEqual([]);
    expect(judged({ breaks: [{ ...found, says: 'No more.' }, other], allowed: [every] }, announced)).toHaveLength(1);
  });
});

describe('the gate rejects', () => {
  test('an undeclared break, with instructions', () => {
    const [sentence = ''] = judged({ breaks: [found] }, announced);
    expect(sentence).toContain('1 undeclared break of the contract released as v1.0.0');
    expect(sentence).toContain('default-changed: Other.\n    at #/components/parameters/PageSizeN000/schema/default');
    expect(sentence).toContain('for GET /N000/staff/{id} (getStaffN000)\n');
    const snippet: unknown = parse(sentence.slice(sentence.indexOf('\n- rule:')));
    expect(snippet).toEqual([{ ...found, reason: '', changelog: 'getStaffN000' }]);
  });
  test('a break that is allowed with another text', () => {
    const sentences = judged({ breaks: [{ ...found, says: 'Other still.' }], allowed: [allowed] }, announced);
    expect(sentences).toHaveLength(2);
  });
  test('an allowed break that does not occur', () => {
    expect(judged({ allowed: [allowed] })).toEqual([
      `openapi/released/allowed-breaks.yaml: remove default-changed at ${found.at}, which no longer occurs.`,
    ]);
  });
  test('one without a reason', () => {
    expect(judged({ breaks: [found], allowed: [{ ...allowed, reason: ' ' }] }, announced)).toEqual([
      `openapi/released/allowed-breaks.yaml: add a reason for default-changed at ${found.at}.`,
    ]);
  });
  test('one that is listed twice', () => {
    expect(judged({ breaks: [found], allowed: [allowed, allowed] }, announced)).toEqual([
      `openapi/released/allowed-breaks.yaml: default-changed at ${found.at} is listed twice.`,
    ]);
  });
  test.each([added, announced.replace('getStaffN000', 'updateStaffN000'), ''])(
    'one without a changelog entry: %j',
    (groups) => {
      expect(judged({ breaks: [found], allowed: [allowed] }, groups)).toEqual([
        `CHANGELOG.md: no entry under "Unreleased", "Breaking changes" mentions \`getStaffN000\` (default-changed at ${found.at}).`,
      ]);
    },
  );
  test('one whose changelog entry has another name', () => {
    expect(judged({ breaks: [found], allowed: [{ ...allowed, changelog: 'gives' }] }, announced)).toEqual([
      `openapi/released/allowed-breaks.yaml: \`changelog\` of default-changed at ${found.at} must refer to what breaks, such as getStaffN000, /N000/staff/{id}, PageSizeN000.`,
    ]);
  });
  test.each(['', announced])('a change without a changelog entry: %j', (groups) => {
    expect(judged({ others: [found.at] }, groups)).toEqual([
      `CHANGELOG.md: describe under "Unreleased", in a group other than "Breaking changes", what changed in the contract, such as at ${found.at}.`,
    ]);
  });
  test.each(['', '### Added\n\n- `nickname` of a contact.\n', '### Added\n\n- A field of a client.\n'])(
    'an added property that no entry about its schema names: %j',
    (groups) => {
      const additions = [{ name: 'nickname', at: '#/a', of: 'ClientFields' }];
      expect(judged({ additions }, groups)).toEqual([
        'CHANGELOG.md: add an entry under "Unreleased" that names `nickname` of `ClientFields`, which is new at #/a.',
      ]);
    },
  );
  test('an addition that no entry names, once for all places', () => {
    const additions = ['#/a', '#/b'].map((at) => ({ name: 'fields', at }));
    expect(judged({ additions }, added)).toEqual([
      'CHANGELOG.md: add an entry under "Unreleased" that names `fields`, which is new at #/a.',
    ]);
  });
  test('a changelog in another format', () => {
    expect(judged({}, added.replace('Added', 'News'))).toEqual([expect.stringContaining('is not a known group')]);
  });
  test('a contract that is not the last release', () => {
    expect(judged({ releasedVersion: 'v0.9.0' })).toEqual([
      'CHANGELOG.md: the newest version is v1.0.0, but the released contract is v0.9.0.',
    ]);
  });
});

describe('the users of an element', () => {
  test.each([
    ['#/components/schemas/FieldsN001', ['getStaffN001', 'updateStaffN001']],
    ['#/components/schemas/EventN001/properties/at', ['staffUpdatedN001']],
    ['#/components/parameters/IdN001', ['getStaffN001', 'updateStaffN001']],
    ['#/paths/~1N001~1staff~1{id}/put/responses/200', ['updateStaffN001']],
    ['#/paths/~1N001~1staff~1{id}', ['getStaffN001', 'updateStaffN001']],
    ['#/components/schemas/Nothing', []],
  ])('%s', (at, users) => expect(usersOf(bundle, at).map(({ id }) => id)).toEqual(users));

  test('everyone', () => {
    expect(usersOf(bundle, '#/servers/0')).toHaveLength(6);
    expect(wordsFor(bundle, '#/servers/0')).toEqual(['servers']);
    expect(wordsFor(bundle, '#/components/securitySchemes/bearerAuth')[0]).toBe('bearerAuth');
  });
});

describe('the file of allowed breaks', () => {
  const text = `# Why.\n- rule: default-changed\n  at: '#/a'\n  says: Other.\n  reason: So.\n  changelog: a\n`;
  test('is parsed', () => expect(allowedIn(text)).toEqual([parse(text)[0]]));
  test('can be empty', () => expect(allowedIn('# Why.\n[]\n')).toEqual([]));
  test('keeps its comments at a release', () => expect(withoutEntries(text)).toBe('# Why.\n[]\n'));
  test('requires each field', () => {
    expect(() => allowedIn('- rule: a\n')).toThrow(
      'openapi/released/allowed-breaks.yaml: entry 1 requires a text as `at`.',
    );
  });
  test('must be a list', () => expect(() => allowedIn('a: b\n')).toThrow('must be a list'));
});
