import { v7 as uuidv7 } from 'uuid';
import { openStore } from '../src/platform/store/store.ts';
import { patientLimits } from './patient-limits.ts';
import { insertOrg } from './rows.ts';

/** A process that writes rows endlessly, and prints the ID of each one as soon as it is stored. */
const [dataDir = '', tenant = ''] = process.argv.slice(2);
const tenantId = Number(tenant);
const store = await openStore({ dataDir, limits: patientLimits });
for (;;) {
  // Several at a time, like concurrent requests.
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      const id = uuidv7();
      await store.write(tenantId, async (transaction) => {
        await transaction.all(insertOrg(tenantId, id, id));
        await transaction.savepoint(() => transaction.all(insertOrg(tenantId, `beside ${id}`)));
      });
      process.stdout.write(`${id}\n`);
    }),
  );
}
