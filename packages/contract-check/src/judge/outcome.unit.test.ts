import { expect, it } from 'vitest';
import { exchangeOf } from '../../test/doubles/report.ts';
import { pointsElsewhere } from './outcome.ts';

const rejected = (error: object) =>
  exchangeOf(
    { body: '{"operator":"IS_BELOW","value":"Delta Amber","name":"b"}' },
    { status: 400, text: JSON.stringify(error) },
  );

it.each<[name: string, error: object, isElsewhere: boolean]>([
  ['a pointer to another property', { errors: [{ pointer: '/value', detail: 'wrong' }] }, true],
  ['a pointer to the probed property', { errors: [{ pointer: '/operator', detail: '"value" is wrong' }] }, false],
  ['another property in quotes', { name: 'BadDataError', details: [{ message: '"value" must be a number' }] }, true],
  ['the value of another property', { message: 'no number: Delta Amber' }, true],
  ['the values of both', { message: 'Delta Amber does not suit IS_BELOW' }, false],
  ['the probed property in quotes', { message: '"operator" needs another "value"' }, false],
  ['quotes around what the request does not have', { message: 'the "type" is wrong' }, false],
  ['no name', { message: 'wrong' }, false],
])('an error with %s', (_name, error, isElsewhere) => {
  expect(pointsElsewhere(rejected(error), ['operator'])).toBe(isElsewhere);
});
