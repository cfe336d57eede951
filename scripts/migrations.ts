/** Checks that migrations can be applied while the version before serves. `scripts/migrations/rules.ts` has the rules. */
import { readMigrations } from '../packages/server/src/platform/store/migrate.ts';
import { misnumbered, violationsOf } from './migrations/rules.ts';

// The baseline creates the schema of an empty database, which nobody uses yet.
const [, ...migrations] = await readMigrations();
const violations = [
  ...misnumbered(migrations.map(([name]) => name)),
  ...migrations.flatMap(([name, text]) => violationsOf(text).map((violation) => `${name}: ${violation}`)),
];
for (const violation of violations) console.error(violation);
if (violations.length > 0) process.exitCode = 1;
else console.log(`${migrations.length} migrations after the baseline checked.`);
