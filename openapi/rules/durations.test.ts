import { readdirSync, readFileSync } from 'node:fs';
import { expect, it, test } from 'vitest';
import { contract } from '../../packages/server/src/contract/contract.ts';
import { undeclaredIn } from './durations.ts';
import { sentences, set } from './testing.ts';

const boat = 'paths/boats/boat.yaml';

test('durations reports what a description states and `x-durations` does not have', async () => {
  const found = await sentences('durations', (files) => {
    set(files, boat, ['get', 'description'], 'Returns a boat that was seen in the last five minutes, or 36 hours ago.');
    set(files, 'openapi.yaml', ['x-durations'], { seen: 'PT5M' });
  });
  expect(found).toEqual(['Declare 36 hours in `x-durations` as PT36H, or correct the text.']);
});

test('durations reports what `x-durations` has and no description states', async () => {
  const found = await sentences('durations', (files) => {
    set(files, 'openapi.yaml', ['x-durations'], { seen: 'P1000D', retries: ['PT5S', 'PT1M'] });
  });
  expect(found).toEqual(['State in a description: 1,000 days.', 'State in a description: 5 seconds, 1 minute.']);
});

test('durations reports a list of pauses in another order', () => {
  const declared = { retries: ['PT5S', 'PT5M', 'PT2H'] };
  expect(undeclaredIn('It is sent again after 5 s, 5 min and\n 2 h.', declared)).toEqual([]);
  expect(undeclaredIn('It is sent again after 5 min, 5 s and 2 h.', declared)).toEqual([
    'Declare the list PT5M,PT5S,PT2H in `x-durations`.',
  ]);
});

const guides = new URL('../guides/', import.meta.url);

/** Durations of the story of a guide, and of what the reader's own programs do. */
const ofStories = ['about three days'];

it.each(readdirSync(guides).filter((file) => file.endsWith('.md')))(
  'the guide %s states declared durations',
  (file) => {
    const text = ofStories.reduce(
      (rest, story) => rest.replace(story, ''),
      readFileSync(new URL(file, guides), 'utf8'),
    );
    expect(undeclaredIn(text.replaceAll(/```[\s\S]*?```/g, ''), { ...contract['x-durations'] })).toEqual([]);
  },
);
