import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleOf } from '../sample.ts';
import { expectCaught } from './expect-caught.ts';
import { prove } from './prove.ts';
import { serviceDrifts } from './service/drifts.ts';
import { type OpenStage, openWorkshopStage } from './stages.ts';
import { workshopDrifts } from './workshop/drifts.ts';
import type { Shop } from './workshop/samples.ts';

/** Drifts of each kind that are quick to check. The script `drifts` checks all drifts. */
const workshopSample = [
  'getJob: the status in the problem is another one',
  'listTools: the link has no relation',
  'createTool: an emoji gives 500',
  'listTools: the order is ignored',
  'findBoxes: volumes are in gallons by default',
];

describe('the suite of the service', () => {
  it('has enough drifts, with unique names, for every operation of the service', () => {
    expect(serviceDrifts.length).toBeGreaterThanOrEqual(170);
    expect(new Set(serviceDrifts.map(({ name }) => name)).size).toBe(serviceDrifts.length);
    expect(new Set(serviceDrifts.map(({ operation }) => operation)).size).toBe(34);
  });
});

describe('the suite of the workshop', () => {
  let workshop: OpenStage<Shop>;
  let shop: Shop;
  beforeAll(async () => {
    workshop = await openWorkshopStage();
    shop = await workshop.createWorld();
  });
  afterAll(() => workshop?.close());

  it.each(sampleOf(workshopDrifts, 18))('is observable: $name', (drift) => prove(drift, workshop.proxy, shop));

  it.each(sampleOf(workshopSample, 10))('is found by the check: %s', (name) =>
    expectCaught(workshop, workshopDrifts, name),
  );
});
