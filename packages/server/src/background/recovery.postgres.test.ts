import { expect, test } from 'vitest';
import { counted, runBackground } from '../../test/background.ts';
import { addTenant, testDatabase } from '../../test/database.ts';
import { patientLimits } from '../../test/patient-limits.ts';
import { overTcp } from '../../test/postgres-server.ts';
import { count } from '../../test/rows.ts';
import { openProxy } from '../../test/severable-proxy.ts';
import { openStore } from '../platform/store/store.ts';
import { defineJob, enqueue } from './job.ts';

const { databaseUrl = '' } = await testDatabase();
const url = overTcp(databaseUrl);
const proxy = await openProxy(url.hostname, Number(url.port));
url.port = String(proxy.port);

test('jobs continue after the database was unavailable: running jobs end once, and new jobs are detected', async () => {
  const direct = await openStore({ databaseUrl, limits: patientLimits });
  const store = await openStore({ databaseUrl: url.href });
  try {
    const tenantId = await addTenant(direct, 'alpha');
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const severed = Promise.withResolvers<void>();
    const job = defineJob({
      name: 'outlasting',
      data: { key: 'string' },
      run: async ({ data, write }) => {
        begun.resolve();
        if (data.key === 'during') await gate.promise;
        await write(({ transaction }) => transaction.all(count(tenantId, `outlasting ${data.key}`)));
        // It ends while the database is unavailable, so its completion must wait.
        if (data.key === 'during') await proxy.sever().then(severed.resolve);
      },
    });
    const background = await runBackground(store, { jobs: [job] });
    const add = (key: string) => direct.write(tenantId, (transaction) => enqueue(transaction, job, { key }));
    await add('during');
    await begun.promise;
    gate.resolve();
    await expect.poll(() => counted(direct, tenantId, 'outlasting ')).toEqual({ during: 1 });
    await severed.promise;
    await proxy.restore();
    await add('after');
    await expect.poll(() => counted(direct, tenantId, 'outlasting ')).toEqual({ after: 1, during: 1 });
    await expect
      .poll(() => background.service.metrics.registry.metrics())
      .toContain('background_jobs_total{job="outlasting",outcome="completed"} 2');
    await background.stop(10_000);
  } finally {
    await store.close();
    await direct.close();
    await proxy.sever();
  }
});
