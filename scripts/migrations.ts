/** Checks that migrations can be applied while the version before serves. `scripts/migrations/rules.ts` has the rules. */
import { readMigrations } from '../packages/server/src/platform/store/migrate.ts';
import { violationsOf } from './migrations/rules.ts';

const migrations = await readMigrations();
const violations = [...migrations].flatMap(([name, text]) =>
  violationsOf(name, text).map((violation) => `${name}: ${violation}`),
);
for (const violation of violations) console.error(violation);
if (violations.length > 0) process.exitCode = 1;
else console.log(`${migrations.size} migrations checked.`);
