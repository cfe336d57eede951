import { createDataDir } from '@financial-automation/server/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { sampleOf } from '../sample.ts';
import { expectCaught } from './expect-caught.ts';
import { prove } from './prove.ts';
import { serviceDrifts } from './service/drifts.ts';
import type { World } from './service/world.ts';
import { type OpenStage, openServiceStage } from './stages.ts';

/** Drifts of each kind that are quick to check. The script `drifts` checks all drifts. */
const serviceSample = [
  'getContact: no role is needed',
  'listClients: PUT returns 404',
  'listOffices: a body that is not JSON gives 500',
  'getClient: a client is shown to another tenant',
  'updateCustomRecordType: an update is returned, but not stored',
];
let stage: OpenStage<World>;
let world: World;
beforeAll(async () => {
  stage = await openServiceStage({ data: await createDataDir() });
  world = await stage.createWorld();
});
afterAll(() => stage?.close());

describe('the suite of the service', () => {
  it.each(sampleOf(serviceDrifts, 15))('is observable: $name', (drift) => prove(drift, stage.proxy, world));

  it.each(serviceSample)('is found by the check: %s', (name) => expectCaught(stage, serviceDrifts, name));
});
