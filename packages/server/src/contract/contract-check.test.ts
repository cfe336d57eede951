import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planOf } from '@financial-automation/contract-check';
import { describeContract } from '@financial-automation/contract-check/vitest';
import { operations } from '@financial-automation/spec';
import { withOpenItems } from '@financial-automation/spec/open-items';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { testService } from '../../test/service.ts';
import { createApiKey } from '../operator/api-keys.ts';
import { contract } from './contract.ts';

// Most rows require other rows that they refer to.
const service = await testService({ filled: 'examples' });
// Only those of an active subscription can be sent again.
await service.call('POST', '/api/v1/event-subscriptions/0199a1c2-1b02-7c01-8a4f-5d2e9b60f101/reactivate');
const elsewhere = await service.addTenant('elsewhere');
const otherTenant = await service.signIn({ roles: ['API_ADMIN'], tenant: elsewhere });
// Some operations are open to every API user of the tenant, so this one belongs to the other tenant.
const forbidden = await service.signIn({ roles: [], tenant: elsewhere });

const signedIn = (token: string, tenant: string) => ({ Authorization: `Bearer ${token}`, Tenant: tenant });

/**
 * The operations, and the probes of each: of every tenth tag, which is whole, since some operations read what others of
 * it create. `CONTRACT_PROBES=1000` sends all probes of all operations.
 */
const tags = [...new Set(Object.values(operations).map(({ tag }) => tag))];
const isSample = process.env.CONTRACT_PROBES === undefined;
const { probes, checkedTags } = isSample
  ? { probes: 30, checkedTags: tags.filter((_, index) => index % 10 === 0) }
  : { probes: Number(process.env.CONTRACT_PROBES), checkedTags: tags };

// An invalid item of a bulk request fails alone, so the request is valid.
const folder = await mkdtemp(join(tmpdir(), 'contract-check-'));
atEnd(() => rm(folder, { recursive: true }));
const spec = join(folder, 'openapi.json');
await writeFile(spec, JSON.stringify(withOpenItems(contract)));

// Other operations would find that their rows have expired when the clock was advanced.
const ofClock = ['getSandboxClock', 'advanceSandboxClock'];
const checked = Object.entries(operations)
  .filter(([id, { tag }]) => checkedTags.includes(tag) && !ofClock.includes(id))
  .map(([id]) => id);

test('the contract check takes aggregates for reads, which need no --disposable', async () => {
  const aggregates = (await planOf({ spec, url: service.address })).filter(({ operation }) =>
    /^aggregate/.test(operation),
  );
  expect(aggregates.length).toBeGreaterThan(9);
  for (const one of aggregates) expect(one).toMatchObject({ effect: 'read', skipped: undefined });
});

await describeContract('the server matches the contract', {
  spec,
  only: checked,
  options: async () => ({
    minCoverage: { constraints: 90, statuses: 80 },
    url: service.address,
    timeout: 60,
    disposable: true,
    probes,
    auth: {
      caller: () => signedIn(service.token, service.tenant.name),
      forbidden: () => signedIn(forbidden.token, service.tenant.name),
      otherTenant: () => signedIn(otherTenant.token, otherTenant.tenant.name),
      expired: async () => signedIn(await expired(service.token), service.tenant.name),
      values: async () => ({ apiKey: await apiKey() }),
    },
  }),
});

const sandbox = await testService({ sandbox: true });
const stranger = await sandbox.signIn({ roles: [], tenant: await sandbox.addTenant('elsewhere') });

await describeContract('the clock of a sandbox matches the contract', {
  spec,
  only: ofClock,
  options: async () => ({
    url: sandbox.address,
    timeout: 60,
    disposable: true,
    probes,
    auth: {
      caller: () => signedIn(sandbox.token, sandbox.tenant.name),
      forbidden: () => signedIn(stranger.token, sandbox.tenant.name),
    },
  }),
});

/** The same token, already expired. */
async function expired(token: string): Promise<string> {
  const { key, kid } = service.service.keys.signingKey();
  const past = Math.floor(Date.now() / 1000) - 3600;
  return new SignJWT({ ...decodeJwt(token), exp: past })
    .setProtectedHeader({ ...decodeProtectedHeader(token), alg: 'EdDSA', kid })
    .sign(key);
}

async function apiKey(): Promise<string> {
  const options = {
    tenant: service.tenant.name,
    user: 'checker',
    roles: ['API_ADMIN'],
    days: 1,
    description: undefined,
  };
  return (await createApiKey({ service: service.service }, options)).key;
}
