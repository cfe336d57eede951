import { expect, test } from 'vitest';
import { moveClock, startClock } from '../../../test/clock.ts';
import { agingFirm } from '../../../test/modules/sandbox.ts';
import { testService } from '../../../test/service.ts';
import { backgroundWork } from '../../app/jobs.ts';
import { Clock } from '../../background/clock.ts';
import { newId } from '../../platform/store/new-id.ts';

const start = Temporal.Now.instant();
// PGlite uses this clock, too.
startClock(start);
const service = await testService();

test('advanceSandboxClock › leaves the changes that time leaves for a tenant without a clock of its own', async () => {
  const sandbox = await agingFirm(service, 'sandbox', { sandbox: true });
  const real = await agingFirm(service, 'real', { sandbox: false });
  expect(await sandbox.advance({ advanceBy: 'P90D' })).toMatchObject({ status: 200 });
  const lease = { id: newId(), signal: new AbortController().signal };
  await service.store.ownerStatements(`update clock_lease set run_id = $1, leased_until = 'infinity'`, [lease.id]);
  const clock = new Clock(service.service, backgroundWork.clockTasks, () =>
    Temporal.Instant.fromEpochMilliseconds(Date.now()),
  );
  for (let hour = 0; hour <= 90 * 24; hour += 2) {
    moveClock(start.add({ hours: hour }));
    await clock.tick(lease);
  }
  const changes = await sandbox.changes();
  expect(new Set(changes.map((line) => line.split(' ', 1)[0]))).toEqual(
    new Set(['DraftInvoice', 'DraftInvoiceHistory', 'QuickPaymentLink', 'Invoice', 'WipEntry', 'TimeEntry']),
  );
  expect(changes).toEqual(await real.changes());
});
