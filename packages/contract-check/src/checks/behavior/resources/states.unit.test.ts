import { expect, it } from 'vitest';
import { stateNamed, statesDescribed } from './states.ts';

const states = ['draft', 'sent', 'checked_in', 'paid', 'cancelled', ''];

it.each([
  ['check-in', 'checked_in'],
  ['cancel', 'cancelled'],
  ['pay', 'paid'],
  ['send', 'sent'],
  ['publish', undefined],
])('stateNamed › %s leads to %s', (verb, state) => {
  expect(stateNamed(verb, states)).toBe(state);
});

it.each([
  ['Only draft or sent invoices can be paid.', '', ['draft', 'sent']],
  ['Can only be paid when sent.', '', ['sent']],
  ['Moves it from `draft` to `sent`.', '', ['draft']],
  ['Allowed from checked in.', 'Conflict', ['checked_in']],
  ['', 'The invoice is not sent', ['sent']],
  ['', 'Must be in the state draft', ['draft']],
  ['', 'The guest must be checked in first', ['checked_in']],
  ['Only invoices that are not cancelled can be sent.', '', undefined],
  ['The invoice must be paid within 30 days.', '', undefined],
  ['Removes it from the cancelled ones.', '', undefined],
  ['Only draft invoices can be sent.', 'The invoice is not sent', undefined],
])('statesDescribed › "%s" and "%s" say %j', (description, conflict, expected) => {
  expect(statesDescribed([undefined, description, conflict], states)).toEqual(expected);
});
