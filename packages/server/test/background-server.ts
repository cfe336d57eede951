import '../src/app/handlers.ts';
import { enqueue } from '../src/background/job.ts';
import { serve } from '../src/main/main.ts';
import { observedWork } from './observed-work.ts';

/**
 * A server with jobs that tests observe from outside. With arguments it also adds jobs at the start:
 * `background-server.ts <tenant> <job> <count> <milliseconds of each>`.
 */
const { work, tick } = observedWork(console.log);

const { service } = await serve(process.env, { jobs: [work], clockTasks: [tick] });
const [tenantName, jobs, milliseconds] = process.argv.slice(2);
if (tenantName !== undefined) {
  const { store } = service;
  const tenant = await service.directory.tenant(tenantName);
  if (tenant === undefined) throw new Error(`The tenant ${tenantName} does not exist.`);
  await store.write(tenant.id, async (transaction) => {
    for (let key = 1; key <= Number(jobs); key++) {
      await enqueue(transaction, work, { key: String(key), milliseconds: Number(milliseconds) });
    }
  });
  console.log('added');
}
