import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prove } from './prove.ts';
import { judge } from './run.ts';
import { serviceDrifts } from './service/drifts.ts';
import type { World } from './service/world.ts';
import { type OpenStage, openServiceStage, openWorkshopStage } from './stages.ts';
import { workshopDrifts } from './workshop/drifts.ts';
import type { Shop } from './workshop/samples.ts';

/** One of each sort. The script `drifts` has them all caught. */
const sample = [
  'getClient: the status is none of the known ones',
  'listClientTypes: rows of later pages have no code',
  'getClient: what is not there is 410',
  'listContacts: the request id is no UUID',
  'getTaxRegions: a page of no rows has one',
  'onboardClient: a name that is too long is cut',
  'getContact: no role is needed',
  'searchClients: a direction is not known',
  'onboardClient: a billing address is refused',
  'listClients: PUT is answered with 404',
  'onboardClient: an emoji gives 500',
  'getClientTypes: a page has one row where its size is left out',
  'searchClients: descending is taken for ascending',
  'updateCustomRecordType: a precondition is ignored',
  'getClient: reading a client changes it',
];

let stage: OpenStage<World>;
let world: World;
beforeAll(async () => {
  stage = await openServiceStage();
  world = await stage.makeWorld();
}, 60_000);
afterAll(() => stage?.close());

describe('the suite', () => {
  it('has enough drifts, each of its own, on every operation that the service answers', () => {
    expect(serviceDrifts.length).toBeGreaterThanOrEqual(170);
    expect(new Set(serviceDrifts.map(({ name }) => name)).size).toBe(serviceDrifts.length);
    expect(new Set(serviceDrifts.map(({ operation }) => operation)).size).toBe(34);
  });

  it.each(serviceDrifts)('shows that it can be seen: $name', (drift) => prove(drift, stage.front, world), 20_000);
});

describe('the suite of the workshop', () => {
  let workshop: OpenStage<Shop>;
  let shop: Shop;
  beforeAll(async () => {
    workshop = await openWorkshopStage();
    shop = await workshop.makeWorld();
  });
  afterAll(() => workshop?.close());

  it.each(workshopDrifts)('shows that it can be seen: $name', (drift) => prove(drift, workshop.front, shop));
});

describe('the check', () => {
  it.each(sample)(
    'catches: %s',
    async (name) => {
      const drift = serviceDrifts.find((one) => one.name === name);
      if (drift === undefined) throw new Error(`There is no drift "${name}".`);
      const { findings } = await judge(stage, drift, 1);
      expect(findings).not.toEqual([]);
    },
    30_000,
  );
});
