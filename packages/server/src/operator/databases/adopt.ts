import { sql } from 'kysely';
import { Vault } from '../../platform/auth/vault.ts';
import { type Config, databaseOf } from '../../platform/process/config.ts';
import { tenantsOfCell } from '../../platform/store/databases/index.ts';
import { silentLog } from '../../platform/store/limits.ts';
import { recordOperatorAct } from '../../platform/store/operator-log.ts';
import { openStore, type Store } from '../../platform/store/store.ts';
import { openAllCells } from './cells.ts';
import { nameOfDatabase } from './placement.ts';

interface OpenTenant {
  readonly id: number;
  readonly name: string;
  readonly cell: number;
}

/**
 * Makes a restored database the one of the installation: from the next start on, its processes deliver events, follow payments and use the
 * other databases. Tenants that these have, and the directory does not, are added to it.
 *
 * @param kept where tenants are that are open in several databases, as `name=database`: they are closed in the others.
 * @throws Error with a sentence if a tenant is open in several databases.
 */
export async function adoptDatabase(
  config: Config,
  kept: readonly string[],
  print: (line: string) => void,
): Promise<void> {
  if (config.databaseUrl === undefined)
    throw new Error('The embedded database needs no adoption: nothing else uses it.');
  const home = await openStore(databaseOf(config));
  const cells = await openAllCells(config, home, new Vault(config.masterKeys), silentLog);
  try {
    for (const choice of kept) await keepTenantIn(cells, choice);
    const open = await openTenants(cells);
    const twice = Map.groupBy(open, ({ name }) => name);
    for (const [name, found] of twice) {
      if (found.length === 1) continue;
      const names = found.map(({ cell }) => nameOfDatabase(cells, cell)).join(' and ');
      throw new Error(
        `The tenant ${name} is open in ${names}. Compare them, and say which one it is: operator adopt --keep ${name}=${nameOfDatabase(cells, found[0]?.cell ?? 0)}. The others are closed.`,
      );
    }
    await home.system(async (transaction) => {
      for (const { id, name, cell } of open) {
        const moved = Math.floor(id / tenantsOfCell) === cell ? null : id;
        const added = await transaction.first(sql`
          insert into tenant_place (name, cell, tenant) values (${name}, ${cell}, ${moved})
          on conflict (name) do nothing returning name`);
        if (added !== undefined)
          print(`The directory lacked the tenant ${name} of the database ${nameOfDatabase(cells, cell)}.`);
      }
      await transaction.all(sql`update installation set database = present_database(), adopted_at = now()`);
      await recordOperatorAct(transaction, { operation: 'adopt', subject: 'installation', details: { kept } });
    });
  } finally {
    if (cells !== home) await cells.close();
    await home.close();
  }
  print(
    'The database is adopted. Restart the processes: they deliver events, follow payments and use all databases then.',
  );
}

/** The open tenants of all databases. */
async function openTenants(cells: Store): Promise<OpenTenant[]> {
  const found: OpenTenant[] = [];
  for (const { number } of cells.cells)
    found.push(
      ...(await cells
        .cell(number)
        .owner.all<OpenTenant>(sql`select id, name, ${number}::integer as cell from tenant where active order by id`)),
    );
  return found;
}

async function keepTenantIn(cells: Store, choice: string): Promise<void> {
  const [name = '', database = ''] = choice.split('=');
  const kept = cells.cells.find((cell) => cell.name === database);
  if (kept === undefined) throw new Error(`--keep ${choice}: the directory has no database "${database}".`);
  const tenants = (await openTenants(cells)).filter((tenant) => tenant.name === name);
  const tenant = tenants.find(({ cell }) => cell === kept.number);
  if (tenant === undefined) throw new Error(`--keep ${choice}: the tenant is not open in that database.`);
  for (const { cell } of tenants)
    if (cell !== kept.number)
      await cells.cell(cell).owner.all(sql`update tenant set active = false, closed_at = now() where name = ${name}`);
  const moved = Math.floor(tenant.id / tenantsOfCell) === kept.number ? null : tenant.id;
  await cells.owner.all(sql`
    insert into tenant_place (name, cell, tenant) values (${name}, ${kept.number}, ${moved})
    on conflict (name) do update set cell = excluded.cell, tenant = excluded.tenant, moves_to = null`);
}
