import { describe, expect, test } from 'vitest';
import { entriesOf, errorsIn, names, released, releaseNow, releasesOf } from './changelog.ts';

const text = `# Changelog

## Unreleased

### Added

- A thing,
  on two lines.
- \`GET /a/{id}\`.

### Fixed

- Another.

## v1.10.0 – 2026-02-28

### Breaking changes

- Gone: \`removeThing\`.

## v1.9.0 – 2026-02-28
`;

const errors = (from: string, to: string) => errorsIn(releasesOf(text.replace(from, to)));

describe('the format of the changelog', () => {
  test('is valid', () => expect(errorsIn(releasesOf(text))).toEqual([]));

  test.each([
    ['## Unreleased', '## Next', 'The first section must be "## Unreleased".'],
    [
      'v1.10.0 –',
      'v1.10 –',
      '"## v1.10 – 2026-02-28" must have the form "## v1.2.3 – 2026-01-31", with a day that exists.',
    ],
    [
      'v1.10.0 –',
      'v1.10.0 -',
      '"## v1.10.0 - 2026-02-28" must have the form "## v1.2.3 – 2026-01-31", with a day that exists.',
    ],
    [
      '2026-02-28',
      '2026-02-30',
      '"## v1.10.0 – 2026-02-30" must have the form "## v1.2.3 – 2026-01-31", with a day that exists.',
    ],
    ['2026-02-28', '2026-01-28', '"## v1.9.0 – 2026-02-28" has a later day than "## v1.10.0", which is above it.'],
    ['v1.10.0', 'v1.8.0', '"## v1.9.0 – 2026-02-28" must be older than "## v1.8.0", which is above it.'],
    ['v1.10.0', 'v1.9.0', '"## v1.9.0 – 2026-02-28" must be older than "## v1.9.0", which is above it.'],
    [
      '### Fixed',
      '### Mended',
      '"### Mended" under "## Unreleased" is not a known group: Breaking changes, Added, Changed, Deprecated, Removed, Fixed.',
    ],
    [
      '### Fixed',
      '### Breaking changes',
      '"### Breaking changes" under "## Unreleased" is too low: the order is Breaking changes, Added, Changed, Deprecated, Removed, Fixed.',
    ],
    ['### Fixed', '### Added', '"### Added" under "## Unreleased" occurs twice.'],
    ['- Another.\n', '', '"### Fixed" under "## Unreleased" has no entry.'],
    [
      '- Another.',
      '- Another.\n\nAnd words.',
      '"### Fixed" under "## Unreleased" has content other than a list of entries.',
    ],
  ])('"%s" as "%s"', (from, to, error) => expect(errors(from, to)).toEqual([error]));
});

test('entriesOf returns the entries of a group of unreleased changes', () => {
  const releases = releasesOf(text);
  expect(entriesOf(releases, 'Added')).toEqual(['A thing,\non two lines.', 'GET /a/{id}.']);
  expect(entriesOf(releases, 'Breaking changes')).toEqual([]);
});

test.each([
  ['GET /a/{id}.', '/a/{id}', true],
  ['Removed (removeThing), because.', 'removeThing', true],
  ['GET /a/{id}/parts', '/a/{id}', false],
  ['removeThings', 'removeThing', false],
])('"%s" names %s: %s', (entry, word, expected) => expect(names(entry, word)).toBe(expected));

describe('a release', () => {
  test('moves unreleased changes under its version', () => {
    const after = released(text, 'v1.11.0', '2026-03-01');
    expect(after).toContain('## Unreleased\n\n## v1.11.0 – 2026-03-01\n\n### Added\n\n- A thing,');
    expect(errorsIn(releasesOf(after))).toEqual([]);
    expect(entriesOf(releasesOf(after), 'Added')).toEqual([]);
  });

  test.each([
    ['v1.10.0', '2026-03-01', 'v1.10.0 must follow v1.10.0.'],
    [
      '1.11.0',
      '2026-03-01',
      '"## 1.11.0 – 2026-03-01" must have the form "## v1.2.3 – 2026-01-31", with a day that exists.',
    ],
    [
      'v1.11.0',
      '2026-02-30',
      '"## v1.11.0 – 2026-02-30" must have the form "## v1.2.3 – 2026-01-31", with a day that exists.',
    ],
  ])('is rejected as %s on %s', (version, date, sentence) => {
    expect(() => released(text, version, date)).toThrow(sentence);
  });

  test('is rejected as a patch if something breaks', () => {
    const breaking = text.replace('### Added', '### Breaking changes\n\n- A field is gone.\n\n### Added');
    expect(() => released(breaking, 'v1.10.1', '2026-03-01')).toThrow(
      'v1.10.1 is a patch of v1.10.0, and has breaking changes. Release a minor or a major version.',
    );
    expect(released(breaking, 'v1.11.0', '2026-03-01')).toContain('v1.11.0');
    expect(released(text, 'v1.10.1', '2026-03-01')).toContain('v1.10.1');
  });

  test('is named by the newest version, and what follows it is unreleased', () => {
    expect(releaseNow(releasesOf(text))).toBe('v1.10.0+unreleased');
    expect(releaseNow(releasesOf(released(text, 'v1.11.0', '2026-03-01')))).toBe('v1.11.0');
  });

  test('is rejected if there are no unreleased changes', () => {
    const after = released(text, 'v1.11.0', '2026-03-01');
    expect(() => released(after, 'v1.12.0', '2026-03-02')).toThrow('CHANGELOG.md has no unreleased changes.');
  });
});
