import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { requestSchema, View } from '../schema/view.ts';
import { OpenApiDocument } from './document.ts';
import { envelopeOf, flatBody, flatRow, wrapped } from './envelopes.ts';
import { operationsOf } from './operation.ts';

const address = new URL('../../test/independent/strangers/jsonapi.yaml', import.meta.url);
const document = await OpenApiDocument.load(fileURLToPath(address));
const loan = {
  data: {
    type: 'loans',
    id: '7',
    attributes: { borrower: 'Museum', dueOn: '2031-01-01' },
    relationships: { artwork: { data: { type: 'artworks', id: '3' } } },
  },
};

it('a document of JSON:API is seen as one object with its attributes and the IDs of its relationships', () => {
  expect(flatRow(loan.data)).toEqual({ id: '7', borrower: 'Museum', dueOn: '2031-01-01', artworkId: '3' });
  expect(flatBody(loan)).toEqual(flatRow(loan.data));
  expect(flatBody({ data: [1], note: null })).toEqual({ data: [1], note: null });
});

it('the object of a request is sent in its document, with the ID only of what exists', () => {
  const create = operationsOf(document).find(({ id }) => id === 'createLoan');
  if (create === undefined) throw new Error('jsonapi.yaml has no createLoan.');
  const flat = requestSchema(create) ?? {};
  expect(View.of(document, flat).names).toEqual(['borrower', 'dueOn', 'note', 'artworkId']);
  const envelope = envelopeOf(flat);
  if (envelope === undefined) throw new Error('createLoan has no envelope.');
  const { id: _id, ...data } = loan.data;
  expect(wrapped(envelope, flatBody(loan), undefined)).toEqual({ data });
  expect(wrapped({ ...envelope, hasId: true }, flatBody(loan), '7')).toEqual(loan);
});
