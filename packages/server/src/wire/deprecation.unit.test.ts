import { expect, test } from 'vitest';
import { type Contract, operationIndex } from '../../../../scripts/operation-index.ts';
import { deprecationHeaders } from './deprecation.ts';

const operation = (operationId: string, more: object = {}) => ({
  operationId,
  tags: ['boats'],
  summary: 'Get a boat',
  responses: {},
  'x-roles': ['BOAT_R'],
  'x-rate-limit': 'read',
  'x-idempotent': true,
  ...more,
});
const contract: Contract = {
  paths: {
    '/boats/{id}': { get: operation('getBoat') },
    '/ships/{id}': {
      get: operation('getShip', {
        deprecated: true,
        'x-deprecation': { since: '2026-10-01', sunset: '2027-04-01' },
      }),
    },
  },
  components: {},
  'x-rate-limit-policies': { read: { limit: 1, window: 1 } },
  'x-body-limits': {},
};

test('only a deprecated operation has the headers Deprecation and Sunset, as the contract declares them', () => {
  const { getBoat, getShip } = operationIndex(contract);
  expect(getShip && deprecationHeaders(getShip)).toEqual({
    Deprecation: '@1790812800',
    Sunset: 'Thu, 01 Apr 2027 00:00:00 GMT',
  });
  expect(getBoat && deprecationHeaders(getBoat)).toEqual({});
});
