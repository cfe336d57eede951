import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { findings, instead } from './plain-words.ts';
import type { Files } from './small-contract.ts';
import { sentences, set } from './testing.ts';

const answers = 'Do not write "Answers". Write "return" or "response".';

/** Places that the rule checks, each with a change that adds a word that it rejects. */
const places: [place: string, change: (files: Files) => void][] = [
  ['a summary', (files) => set(files, 'paths/boats/boat.yaml', ['get', 'summary'], 'Answers a boat')],
  ['a description', (files) => set(files, 'paths/boats/boat.yaml', ['get', 'description'], 'Answers a boat.')],
  ['info', (files) => set(files, 'openapi.yaml', ['tags', 0, 'description'], 'Answers.')],
  ['a schema', (files) => set(files, 'schemas/boats/Boat.yaml', ['description'], 'Answers.')],
  [
    'a description next to a reference',
    (files) => set(files, 'schemas/boats/BoatFields.yaml', ['properties', 'feeAmount', 'description'], 'Answers.'),
  ],
  ['a parameter', (files) => set(files, 'parameters/Id.yaml', ['description'], 'Answers.')],
  ['a header', (files) => set(files, 'headers/ETag.yaml', ['description'], 'Answers.')],
  ['a response', (files) => set(files, 'responses/Problem400.yaml', ['description'], 'Answers.')],
  ['a webhook', (files) => set(files, 'webhooks/boat_created.yaml', ['post', 'description'], 'Answers.')],
  ['the summary of an example', (files) => set(files, 'examples/boats/boat.yaml', ['summary'], 'Answers')],
  [
    'the detail of a problem',
    (files) => set(files, 'examples/common/problem400.yaml', ['value', 'detail'], 'Answers.'),
  ],
  [
    'the rule of a value on creation',
    (files) =>
      set(files, 'schemas/boats/BoatFields.yaml', ['properties', 'status', 'x-on-create'], { rule: 'Answers.' }),
  ],
  [
    'the condition of a transition',
    (files) => set(files, 'schemas/boats/BoatStatus.yaml', ['x-state-machine', 'conditions', 'isTight'], 'Answers.'),
  ],
  [
    'the remedy of a condition',
    (files) =>
      set(files, 'schemas/boats/BoatStatus.yaml', ['x-state-machine', 'conditions', 'isTight'], { remedy: 'Answers.' }),
  ],
];

test.each(places)('plain-words reports a word in %s', async (_place, change) => {
  expect(await sentences('plain-words', change)).toContain(answers);
});

describe('the messages of the rules, and the purposes of extensions', () => {
  const folder = new URL('.', import.meta.url);
  // The list has the words itself, and the others are no rules.
  const without = ['plain-words.ts', 'small-contract.ts', 'testing.ts'];
  const files = readdirSync(folder).filter((file) => /^[\w-]+\.ts$/.test(file) && !without.includes(file));

  function textsIn(file: string): string[] {
    const code = readFileSync(new URL(file, folder), 'utf8').replaceAll(/^\s*(\/?\*|\/\/).*$/gm, '');
    const literals = code.matchAll(/'([A-Z][^'\n]*\.)'|`((?:[^`\\\n]|\\.)*\.)`|\bwhy: '([^'\n]*)'/g);
    return [...literals]
      .map(([, text, template = '', why]) => text ?? why ?? template.replaceAll('\\`', '`'))
      .map((text) => text.replaceAll(/\$\{[^}]*\}/g, 'X'));
  }

  it.each(files)('in %s are in plain words', (file) => {
    expect(textsIn(file).flatMap(findings)).toEqual([]);
  });

  it('in plain-words.ts are in plain words, but for the words that they quote', () => {
    expect(instead.flatMap(([, advice]) => findings(advice.replaceAll(/"[^"]*"/g, '')))).toEqual([]);
  });

  it('are more than 150', () => {
    expect(files.flatMap(textsIn).length).toBeGreaterThan(150);
  });
});

describe('findings', () => {
  it.each([
    ['The boat is made of wood.', 'made'],
    ['The key stands in the header.', 'stands'],
    ['The call is refused.', 'refused'],
    ['The role BOAT_W besides.', 'besides'],
    ['The event tells of it.', 'tells'],
    ['It is not for nobody.', 'nobody'],
    ['The caller gives a name.', 'gives'],
    ['Ask for it, as he asked for it.', 'Ask for'],
    ['Which boats are wanted.', 'wanted'],
    ['What is stored.', 'What is'],
    ['The call takes the role BOAT_W.', 'takes'],
    ['The name is taken.', 'is taken'],
    ['The boat is to be sold.', 'is to be'],
    ['The id of the boat.', 'id'],
    ['Conditions side by side.', 'side by side'],
  ])('in %j reports "%s"', (text, word) => {
    expect(findings(text).map((finding) => /"(.*?)"/.exec(finding)?.[1])).toContain(word);
  });

  it.each([
    'The `id` and the `answers` of a request.',
    'The change takes effect at once, unless it takes too long.',
    'See [the guide](https://example.com/answers).',
    '```sh\nanswer --id 1\n```',
    'A unique ID in a valid request.',
  ])('accepts %j', (text) => {
    expect(findings(text)).toEqual([]);
  });
});
