import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { quickFormats } from './quick-formats.ts';

const years = ['0000', '1900', '2000', '2023', '2024'];
const twoDigits = (count: number) => Array.from({ length: count }, (_, index) => String(index).padStart(2, '0'));
const days = years.flatMap((year) =>
  twoDigits(14).flatMap((month) => twoDigits(33).map((day) => `${year}-${month}-${day}`)),
);
const times = [
  ...['00:00:00.000Z', '23:59:59.999Z', '24:00:00.000Z', '23:60:00.000Z', '23:59:60.000Z', '12:00:61.000Z'],
  ...[
    '09:30:00Z',
    '09:30:00.5Z',
    '09:30:00.123456Z',
    '09:30:00.000',
    '09:30:00.000z',
    '09:30:00.000+02:00',
    '15:59:60-08:00',
    '',
    'x',
  ],
];
const instants = days.flatMap((day, index) => [
  `${day}T${times[index % times.length]}`,
  `${day} ${times[index % times.length]}`,
  `${day}T09:30:00.000Z\n`,
]);

const leapSecond = /:60(?:\.\d+)?(?:z|[+-][\d:]+)$/i;

test.each([
  ['date', [...days, '2024-1-1', '2024-01-01T', ' 2024-01-01', '2024-01-01\n', '12024-01-01']],
  ['date-time', instants],
] as const)('%s accepts what the general format accepts, without leap seconds', (name, texts) => {
  const general = addFormats.default.get(name) as { validate(text: string): boolean };
  const quick = quickFormats[name] as unknown as { validate(text: string): boolean };
  const differing = texts.filter((text) => quick.validate(text) !== (general.validate(text) && !leapSecond.test(text)));
  expect(differing).toEqual([]);
  expect(texts.filter((text) => quick.validate(text)).length).toBeGreaterThan(100);
});
