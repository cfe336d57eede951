import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { unauditedChanges } from '../../test/audit-chain.ts';
import { startMailSink } from '../../test/mail-sink.ts';
import { tickOf } from '../../test/modules/pay.ts';
import { isNightly } from '../../test/nightly.ts';
import { testService } from '../../test/service.ts';
import { startBackground } from '../background/background.ts';
import { followAttempts } from '../modules/billing/pay/reconcile.ts';
import { startDelivery } from '../modules/events/delivery/delivery.ts';
import { createApiKey } from '../operator/api-keys.ts';
import { setTenantSetting } from '../operator/tenant-settings.ts';
import { backgroundWork } from './jobs.ts';

const run = promisify(execFile);
/** By day, those that need the page for payers, a receiver of events, and a second person. */
const named = isNightly ? [] : ['w1', 'w2'];
const script = fileURLToPath(new URL('../../../../scripts/workflows.ts', import.meta.url));

const mails = await startMailSink();
const mail = {
  url: undefined,
  sandboxUrl: mails.url,
  from: 'books@firm.example',
  publicUrl: 'https://api.firm.example',
};
const server = await testService({ filled: 'demo', config: { webhookAllowLoopback: true, mail } });
const { service, address, tenant } = server;
// A second person has to approve.
await setTenantSetting({ service }, { tenant: tenant.name, setting: 'selfApproval', value: 'off' });
const work = { jobs: backgroundWork.jobs, clockTasks: [] };
const background = await startBackground(service, work);
afterAll(() => background.stop(0));
const delivery = await startDelivery(service);
afterAll(() => delivery.stop(0));
const keyOf = async (user: string) => {
  const options = { tenant: tenant.name, user, roles: ['API_ADMIN'], days: 1, description: undefined };
  return (await createApiKey({ service }, options)).key;
};

test('the workflows succeed', async () => {
  const environment = { ...process.env, API_KEY: await keyOf('importer'), APPROVER_API_KEY: await keyOf('approver') };
  const words = [script, '--server', address, '--tenant', tenant.name, ...named];
  const clock = new AbortController();
  const ticking = tick(clock.signal);
  const { stdout } = await run(process.execPath, words, { env: environment }).catch((error) => error);
  clock.abort();
  await ticking;
  expect(stdout.split('\n').filter((line: string) => !line.startsWith('✓'))).toEqual([
    expect.stringMatching(/^Running \d+ workflows/),
    '',
  ]);
  expect(stdout).toContain('✓ w1-quote-to-cash');
});

test('the audit log has every change of the demo firm, and so the events that its followers get', async () => {
  expect(await unauditedChanges(service.store, tenant.id)).toEqual([]);
});

/** Follows up on payments, as the clock does each minute, and on bank payments without the growing pauses. */
async function tick(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await service.store.write(tenant.id, (transaction) =>
      transaction.all(sql`update payment_attempt set next_check_at = now() where status in ('PENDING', 'COMPLETED')
        and next_check_at > now()`),
    );
    await followAttempts.run(tickOf(server));
    await pause(1_000);
  }
}
