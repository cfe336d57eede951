import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { allOperations, type Operation } from '../../src/contract/contract.ts';
import { Rejection } from '../../src/contract/rejection.ts';
import { createContractValidator } from '../../src/contract/validator.ts';
import { checkRequest } from '../../src/wire/check-request.ts';
import { findGrowth, type GrownRequest, type GrowthFinding, type Send } from './measure.ts';
import { growthCases } from './requests.ts';

/** Short times are not compared: what a test measures must not depend on the machine. */
const thresholds = { ignored: 20, most: 10_000 };
const operation = (id: string) => allOperations.find((one) => one.id === id) as Operation;

/**
 * Measures a function with the bodies of an operation whose place and shape match. Their parts must be so many that a planted fault
 * takes several times the ignored time on any machine.
 */
async function findingsOf(
  id: string,
  place: string,
  shape: string,
  read: (request: GrownRequest) => unknown,
  parts = 6_000,
) {
  const send: Send = async (request) => {
    await read(request);
    return { status: 200, text: '' };
  };
  const cases = growthCases(operation(id), {}).filter((one) => one.place.includes(place) && one.shape[0] === shape);
  expect(cases).not.toEqual([]);
  const found: GrowthFinding[] = [];
  const sizes = () => [parts];
  for (const one of cases) found.push(...[(await findGrowth({ ...one, sizes }, send, thresholds)) ?? []].flat());
  return found;
}

test('a regular expression that takes quadratic time is found', async () => {
  const slow = ({ body }: GrownRequest) => /0+"?$/.test(String(body));
  expect(await findingsOf('createToken', 'body /unknown', 'decimal zeros', slow, 15_000)).not.toEqual([]);
});

test('work of something else during one short request does not hide a fault', async () => {
  let requests = 0;
  const slow = ({ body }: GrownRequest) => {
    // The second request is the first short one.
    if (++requests === 2) /0+"?$/.test(`${'0'.repeat(4_000)}1`);
    return /0+"?$/.test(String(body));
  };
  expect(await findingsOf('createToken', 'body /unknown', 'decimal zeros', slow, 15_000)).not.toEqual([]);
});

test('a check that compares each item with all others is found', async () => {
  const isUnique = new Ajv2020({ strict: false }).compile({ properties: { jobIds: { uniqueItems: true } } });
  const slow = ({ body }: GrownRequest) => isUnique(JSON.parse(String(body)));
  expect(await findingsOf('createEngagement', 'body /jobIds', 'list of different items', slow)).not.toEqual([]);
});

test('a request that the service does not survive is found', async () => {
  const [one] = growthCases(operation('createEngagement'), {});
  const fails: Send = async () => ({ status: 500, text: 'INTERNAL_ERROR' });
  expect(one && (await findGrowth(one, fails, thresholds))?.problem).toContain('500');
});

test('what takes linear time is not reported: createEngagement', async () => {
  const validator = await createContractValidator();
  const check = async ({ body, headers }: GrownRequest) => {
    const bytes = Buffer.from(String(body));
    try {
      checkRequest(validator, operation('createEngagement'), { path: {}, query: {}, headers: { ...headers }, bytes });
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
    }
  };
  expect(await findingsOf('createEngagement', 'body /jobIds', 'list of different items', check)).toEqual([]);
});

test('values grow up to each bound of the contract and to the size limit', () => {
  const cases = growthCases(operation('createEngagement'), {}).filter(({ place }) => place === 'body /jobIds');
  const sizes = cases.filter(({ shape: [name] }) => name === 'list of different items').map((one) => one.sizes());
  expect(sizes.flat()).toContain(1000);
  const bytes = cases.map(
    ({ shape: [, create], sizes, request }) => String(request(create(sizes().at(-1) ?? 0)).body).length,
  );
  expect(Math.max(...bytes)).toBeGreaterThan(900_000);
  expect(Math.min(...bytes)).toBeGreaterThan(20_000);
});

test('every operation has cases for its path, each of its parameters and each part of its body', () => {
  for (const one of allOperations) {
    const places = new Set(growthCases(one, {}).map(({ place }) => place.split(' ')[0]));
    expect([one.id, ...places]).toEqual([
      one.id,
      ...(one.path.includes('{') ? ['path'] : []),
      ...(places.has('query') ? ['query'] : []),
      ...(one.bodyLimit === null ? [] : ['body']),
    ]);
  }
  const places = growthCases(operation('searchContacts'), {}).map(({ place, shape: [name] }) => `${place} ${name}`);
  expect(places).toEqual(
    expect.arrayContaining([
      'body /where nested _not',
      'body /where nested _or',
      'body /where/id/_in list of different items',
      'body /orderBy list of equal items',
    ]),
  );
});
