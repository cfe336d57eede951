import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDataDir } from '../../../server/test/database.ts';
import { sampleOf } from '../sample.ts';
import type { Drift } from './drift.ts';
import { prove } from './prove.ts';
import { judge } from './run.ts';
import { serviceDrifts } from './service/drifts.ts';
import type { World } from './service/world.ts';
import { type OpenStage, openServiceStage, openWorkshopStage } from './stages.ts';
import { workshopDrifts } from './workshop/drifts.ts';
import type { Shop } from './workshop/samples.ts';

/** Drifts of each kind that are quick to check. The script `drifts` checks all drifts. */
const serviceSample = [
  'getContact: no role is needed',
  'listClients: PUT returns 404',
  'listOffices: a body that is not JSON gives 500',
  'getClient: a client is shown to another tenant',
  'deleteRecords: a deleted record stays active',
];
const workshopSample = [
  'getJob: the status in the problem is another one',
  'listTools: the link has no relation',
  'createTool: an emoji gives 500',
  'listTools: the order is ignored',
  'findBoxes: volumes are in gallons by default',
];

let stage: OpenStage<World>;
let world: World;
beforeAll(async () => {
  stage = await openServiceStage({ data: await createDataDir() });
  world = await stage.createWorld();
});
afterAll(() => stage?.close());

describe('the suite of the service', () => {
  it('has enough drifts, with unique names, for every operation of the service', () => {
    expect(serviceDrifts.length).toBeGreaterThanOrEqual(170);
    expect(new Set(serviceDrifts.map(({ name }) => name)).size).toBe(serviceDrifts.length);
    expect(new Set(serviceDrifts.map(({ operation }) => operation)).size).toBe(34);
  });

  it.each(sampleOf(serviceDrifts, 15))('is observable: $name', (drift) => prove(drift, stage.proxy, world));

  it.each(sampleOf(serviceSample, 5))('is found by the check: %s', (name) => expectCaught(stage, serviceDrifts, name));
});

describe('the suite of the workshop', () => {
  let workshop: OpenStage<Shop>;
  let shop: Shop;
  beforeAll(async () => {
    workshop = await openWorkshopStage();
    shop = await workshop.createWorld();
  });
  afterAll(() => workshop?.close());

  it.each(sampleOf(workshopDrifts, 5))('is observable: $name', (drift) => prove(drift, workshop.proxy, shop));

  it.each(sampleOf(workshopSample, 3))('is found by the check: %s', (name) =>
    expectCaught(workshop, workshopDrifts, name),
  );
});

async function expectCaught<World>(at: OpenStage<World>, drifts: readonly Drift<World>[], name: string): Promise<void> {
  const drift = drifts.find((one) => one.name === name);
  if (drift === undefined) throw new Error(`There is no drift "${name}".`);
  const { findings } = await judge(at, drift, 1);
  expect(findings).not.toEqual([]);
}
