import { describe, expect, test } from 'vitest';
import { bundleOf, type Edits } from '../../packages/openapi-breaking/test/sample.ts';
import { type Addition, additionsOf } from './additions.ts';

const path = '#/paths/~1§~1staff~1{id}';
const schemas = '#/components/schemas';
const operation = (operationId: string) => ({ operationId, responses: {} });
const and = (added: unknown) => (values: unknown[]) => [...values, added];

const additions: readonly (readonly [change: string, edits: Edits, found: readonly Addition[]])[] = [
  ['an operation', { [`${path}/delete`]: operation('deleteStaff') }, [{ name: 'deleteStaff', at: `${path}/delete` }]],
  [
    'a path with its operations',
    { '#/paths/~1cats': { get: operation('getCats'), post: operation('makeCats') } },
    [
      { name: 'getCats', at: '#/paths/~1cats/get' },
      { name: 'makeCats', at: '#/paths/~1cats/post' },
    ],
  ],
  ['a webhook', { '#/webhooks/left': { post: operation('left') } }, [{ name: 'left', at: '#/webhooks/left/post' }]],
  [
    'a parameter of one operation',
    { [`${path}/get/parameters`]: and({ $ref: '#/components/parameters/Reason§' }) },
    [{ name: 'Reason', at: `${path}/get/parameters` }],
  ],
  [
    'a parameter of a path, for each operation',
    { [`${path}/parameters`]: and({ name: 'as', in: 'query' }) },
    [
      { name: 'as', at: `${path}/get/parameters` },
      { name: 'as', at: `${path}/put/parameters` },
    ],
  ],
  [
    'a property of a part of two schemas',
    { [`${schemas}/Fields§/properties/nickname`]: { type: 'string' } },
    ['Staff§', 'StaffUpdate§'].map((of) => ({ name: 'nickname', at: `${schemas}/${of}/properties/nickname`, of })),
  ],
  [
    'a property of an object in a part of a schema',
    { [`${schemas}/StaffUpdate§/allOf/1/properties/extra/properties/shut`]: { type: 'object', properties: { a: {} } } },
    [{ name: 'shut', at: `${schemas}/StaffUpdate§/properties/extra/properties/shut`, of: 'StaffUpdate§' }],
  ],
  [
    'a value of an enum',
    { [`${schemas}/Fields§/properties/status/enum`]: and('AWAY') },
    ['Staff§', 'StaffUpdate§'].map((of) => ({ name: 'AWAY', at: `${schemas}/${of}/properties/status/enum` })),
  ],
  ['nothing in a schema that is new', { [`${schemas}/Cat`]: { properties: { name: {} } } }, []],
  ['nothing in another description', { [`${schemas}/Staff§/description`]: 'Somebody.' }, []],
  [
    'nothing in a parameter that is described by reference now',
    {
      [`${path}/get/parameters`]: and({ $ref: '#/components/parameters/Id§' }),
      [`${path}/parameters`]: undefined,
      [`${path}/put/parameters`]: and({ $ref: '#/components/parameters/Id§' }),
    },
    [],
  ],
];

describe('additionsOf › finds', () => {
  test.each(additions)('%s', (_, edits, found) => {
    const expected = JSON.parse(JSON.stringify(found).replaceAll('§', 'N000'));
    expect(additionsOf(bundleOf([{}]), bundleOf([edits]))).toEqual(expected);
  });
});
