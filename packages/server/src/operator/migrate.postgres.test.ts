import { expect, test } from 'vitest';
import { testDatabase } from '../../test/database.ts';
import { readConfig } from '../app/read-config.ts';
import { KeyRing } from '../platform/auth/key-ring.ts';
import { Vault } from '../platform/auth/vault.ts';
import { readMigrations } from '../platform/store/migrate.ts';
import { openStore } from '../platform/store/store.ts';
import { describeMigration, migrateDatabase } from './migrate.ts';

const { databaseUrl = '' } = await testDatabase('empty');
const config = readConfig({ DATABASE_URL: databaseUrl, MASTER_KEY: Buffer.alloc(32).toString('base64') });
const { size } = await readMigrations();

test('operator migrate › shows the plan, applies it, and a server that only checks starts', async () => {
  const plan = await linesOf(true);
  expect(plan.slice(0, 2)).toEqual([
    expect.stringMatching(new RegExp(`^${size} migrations? (?:is|are) pending:$`)),
    '  0718_baseline',
  ]);
  expect(plan.at(-1)).toBe('Nothing was changed. Run the command without --plan to apply them.');
  await expect(openStore({ databaseUrl, migrations: 'check' })).rejects.toThrow(
    /^The database lacks (?:the migration|\d+ migrations)/,
  );

  const applied = await linesOf(false);
  expect(applied).toContain(`[${size}/${size}] ${[...(await readMigrations()).keys()].at(-1)} …`);
  expect((await linesOf(false)).slice(0, 1)).toEqual(['The database is up to date.']);
  await (await openStore({ databaseUrl, migrations: 'check' })).close();
});

test('operator migrate › says that the master key is another than the one of the database, and applies nothing', async () => {
  const store = await openStore({ databaseUrl, migrations: 'check' });
  await KeyRing.open(store, new Vault(config.masterKeys));
  await store.close();
  const lines: string[] = [];
  const wrong = { ...config, masterKeys: [Buffer.alloc(32, 1)] } as const;
  await expect(migrateDatabase(wrong, false, (line) => lines.push(line))).rejects.toThrow(
    /^MASTER_KEY is not the key with which this database was set up\./,
  );
  expect(lines).toEqual([]);
  expect(await linesOf(true)).toEqual(['The database is up to date.']);
});

test('operator migrate › describes migrations with their locks', () => {
  const name = '9999_new';
  expect(describeMigration({ name, locks: 'share on client', inTransaction: false })).toBe(
    '9999_new (locks: share on client; without transaction)',
  );
});

test('operator migrate › leaves the embedded database to whoever opens it', async () => {
  await expect(migrateDatabase({ ...config, databaseUrl: undefined }, true, () => {})).rejects.toThrow(
    /^The embedded database is migrated whenever it is opened\./,
  );
});

async function linesOf(onlyPlan: boolean): Promise<string[]> {
  const lines: string[] = [];
  await migrateDatabase(config, onlyPlan, (line) => lines.push(line));
  return lines;
}
