import { once } from 'node:events';
import { Command, InvalidArgumentError, Option } from 'commander';
import { settingSchemas } from '../admission/tenant-settings.ts';
import { readConfig } from '../app/read-config.ts';
import { schemaOf } from '../contract/contract.ts';
import type { AuditPage } from '../operator/audit.ts';
import type { CommandName, Commands } from '../operator/commands.ts';
import type { ImportOptions } from '../operator/import-folder.ts';
import type { RowPosition, RowsReport } from '../operator/rows.ts';
import type { Run } from '../operator/run-commands.ts';
import type { MoveOptions } from '../operator/run-moves.ts';
import { triggerEvent, triggers } from '../operator/webhook-trigger.ts';
import { pasteable } from '../platform/operator-command.ts';
import { localUrl } from '../platform/process/config.ts';

// Each command loads its modules when it runs, so that a server starts to open its database before the rest is loaded.
export const program = new Command('financial-automation')
  .description('The server of the Financial Automation API, and the commands of its operator.')
  .showHelpAfterError('Run the command with --help to see its arguments.');

program
  .command('serve')
  .description('Serve the API. Settings come from the environment; packages/server/docs/settings.md lists them.')
  .action(async () => {
    const { serve } = await import('./main.ts');
    await serve(process.env);
  });

program
  .command('migrate')
  .description(
    'Bring the schema of a PostgreSQL server up to date: print the pending migrations with their locks, and apply them.',
  )
  .option('--plan', 'print the pending migrations, and change nothing', false)
  .action(async ({ plan }: { plan: boolean }) => {
    const { migrateDatabase } = await import('../operator/migrate.ts');
    await migrateDatabase(readConfig(process.env), plan, console.log);
  });

const tenant = program.command('tenant').description('Tenants, which are firms.');
tenant
  .command('create')
  .description('Create a tenant with the first legal entity of the firm.')
  .argument('<name>', 'name of the tenant, as in the Tenant header: a-z, 0-9 and _')
  .option('--display-name <text>', 'name of the firm; the name of the tenant by default')
  .option('--currency <code>', 'ISO 4217', 'USD')
  .option('--time-zone <zone>', 'IANA', 'America/New_York')
  .option('--country <code>', 'ISO 3166 alpha-2', 'US')
  .option('--cell <name>', 'the database that gets it; the one of DATABASE_URL by default')
  .option('--sandbox', 'with a clock of its own, which can be advanced; for good')
  .action(
    async (
      name: string,
      options: {
        displayName?: string;
        currency: string;
        timeZone: string;
        country: string;
        sandbox?: boolean;
        cell?: string;
      },
    ) => {
      await doCommand('tenant create', { ...options, name, displayName: options.displayName ?? name }, true);
      console.log(`The tenant ${name} was created. To create an API key for it, run:`);
      console.log(`  ${pasteable(`operator api-key create ${name} my-integration --roles API_ADMIN`)}`);
    },
  );

tenant
  .command('list')
  .description('List the tenants.')
  .addOption(jsonOption())
  .action(async ({ json }: ListOptions) => {
    const { found, unavailable } = await doCommand('tenant list', null);
    print(found, json, 'There are no tenants.');
    warnOfUnavailable(unavailable);
  });
tenant
  .command('set')
  .description('Change a setting of a tenant. It takes effect within seconds.')
  .argument('<name>', 'the tenant')
  .argument('<setting>', 'name of the setting; "tenant show" lists them')
  .argument('<value>', 'the value')
  .action(async (name: string, setting: string, value: string) => {
    const settings = await doCommand('tenant set', { tenant: name, setting, value });
    console.log(`${setting} of ${name} is ${settingText(Reflect.get(settings, setting))}.`);
  });
tenant
  .command('show')
  .description('Show the settings of a tenant.')
  .argument('<name>', 'the tenant')
  .action(async (name: string) => {
    const settings = await doCommand('tenant show', { tenant: name });
    for (const [setting, { description }] of settingSchemas) {
      console.log(`${setting}: ${settingText(Reflect.get(settings, setting))}\n    ${description}`);
    }
  });

tenant
  .command('close')
  .description('Close a tenant: it is not served, its jobs and events wait, and nothing falls due for it.')
  .argument('<name>', 'the tenant')
  .action(async (name: string) => {
    await doCommand('tenant close', { tenant: name });
    console.log(`The tenant ${name} is closed. Within 5 seconds, it is neither served nor worked on.`);
  });
tenant
  .command('open')
  .description('Open a tenant that is closed.')
  .argument('<name>', 'the tenant')
  .action(async (name: string) => {
    await doCommand('tenant open', { tenant: name });
    console.log(`The tenant ${name} is open. What has become due meanwhile happens now.`);
  });
tenant
  .command('export')
  .description(
    'Write all of a tenant to a file: all rows as of one moment, and the content of its files. It works meanwhile. TRANSFER_KEY, 32 bytes in base64, encrypts the secrets instead of MASTER_KEY.',
  )
  .argument('<name>', 'the tenant')
  .requiredOption('--to <file>', 'a new file, compressed if its name ends in .gz, or - for standard output')
  .action(async (name: string, { to }: { to: string }) => {
    const { exportToFile } = await import('../operator/run-copies.ts');
    await exportToFile(name, to, process.env);
  });
tenant
  .command('import')
  .description(
    'Create a tenant from a file that "tenant export" has written. All of it is checked, and nothing remains if it is rejected. Set TRANSFER_KEY as for the export.',
  )
  .argument('<file>', 'the file')
  .option('--name <name>', 'another name for the tenant')
  .option('--cell <name>', 'the database that gets it; the one of DATABASE_URL by default')
  .option('--closed', 'do not serve it, and do not work for it, before "tenant open"', false)
  .action(async (file: string, options: { name?: string; closed: boolean; cell?: string }) => {
    const { importFromFile } = await import('../operator/run-copies.ts');
    await importFromFile(file, options, process.env);
  });
tenant
  .command('move')
  .description(
    'Move a tenant to another database while it works: its rows are copied and compared, and its writes are stopped for at most 5 seconds. The old copy is kept. If the command is interrupted, run it again.',
  )
  .argument('<name>', 'the tenant')
  .option('--to <database>', 'name of the database, as in "cell list"')
  .option('--cancel', 'give up a move that has not ended, and remove the copy', false)
  .option('--remove-old', 'remove the old copy after a move', false)
  .action(async (name: string, options: MoveOptions) => {
    const { runMove } = await import('../operator/run-moves.ts');
    await runMove(name, options);
  });

interface NewKeyOptions {
  readonly roles: string[];
  readonly staff?: string;
  readonly days: number;
  readonly description?: string;
}

const apiKey = program.command('api-key').description('API keys, which are exchanged for access tokens.');
apiKey
  .command('create')
  .description('Create an API key for an API user, and the API user if it does not exist. The key is shown once.')
  .argument('<tenant>', 'the tenant')
  .argument('<user>', 'the name of the API user, such as hartwell-crm')
  .requiredOption('--roles <roles>', 'role names, separated by commas', (text) => text.split(','))
  .option(
    '--staff <staffRef>',
    'the staff member that the API user is of, who approves nothing that one of its API users wrote',
  )
  .option('--days <number>', 'days of validity', wholeNumber, 365)
  .option('--description <text>', 'purpose of the key')
  .action(async (name: string, user: string, options: NewKeyOptions) => {
    const created = await doCommand('api-key create', {
      ...options,
      tenant: name,
      user,
      description: options.description,
    });
    console.log(`${created.key}\n`);
    console.error(
      `Key ${created.id} of ${user}, valid until ${created.expiresAt}. It is not shown again: store it now.`,
    );
  });
apiKey
  .command('list')
  .description('List the API keys of a tenant, the newest first.')
  .argument('<tenant>', 'the tenant')
  .addOption(jsonOption())
  .action(async (name: string, { json }: ListOptions) => {
    const keys = await doCommand('api-key list', { tenant: name });
    print(keys, json, `The tenant ${name} has no API keys.`);
  });
apiKey
  .command('revoke')
  .description('Revoke an API key and its tokens.')
  .argument('<tenant>', 'the tenant')
  .argument('<id>', 'ID of the key, as in the list')
  .action(async (name: string, id: string) => {
    await doCommand('api-key revoke', { tenant: name, id });
    console.log(`The key ${id} is revoked. Its tokens become invalid within seconds.`);
  });

const signingKey = program.command('signing-key').description('The keys that sign API keys and tokens.');
signingKey
  .command('list')
  .description('List the signing keys, the newest first.')
  .addOption(jsonOption())
  .action(async ({ json }: ListOptions) => {
    print(await doCommand('signing-key list', null), json, 'There are no signing keys.');
  });
signingKey
  .command('rotate')
  .description('Sign with a new key from now on. Tokens and keys signed earlier stay valid until they expire.')
  .action(async () => {
    const { kid } = await doCommand('signing-key rotate', null);
    console.log(`New keys and tokens are signed with ${kid}.`);
  });
signingKey
  .command('retire')
  .description('Retire a signing key that may be compromised. All API keys and tokens that it signed become invalid.')
  .argument('<kid>', 'ID of the key, as in the list')
  .action(async (kid: string) => {
    await doCommand('signing-key retire', { kid });
    console.log(`The key ${kid} is retired. All keys and tokens that it signed are rejected within 5 seconds.`);
  });

const cell = program
  .command('cell')
  .description('Databases that have tenants beside the one of DATABASE_URL, which has the directory.');
cell
  .command('add')
  .description(
    'Add an empty database: CELL_DATABASE_URL is its address, which is stored encrypted. Its schema is created. Serving processes open it within seconds.',
  )
  .argument('<name>', 'a name for it: a-z, 0-9, - and _')
  .action(async (name: string) => {
    const { number } = await doCommand('cell add', { name, url: process.env.CELL_DATABASE_URL ?? '' });
    console.log(`The database ${name} is number ${number} of the directory. To create a tenant in it, run:`);
    console.log(`  ${pasteable(`operator tenant create NAME --cell ${name}`)}`);
  });
cell
  .command('list')
  .description('List the databases, with the number of their tenants.')
  .addOption(jsonOption())
  .action(async ({ json }: ListOptions) => {
    print(await doCommand('cell list', null), json);
  });

const job = program.command('job').description('Background jobs.');
job
  .command('list')
  .description('List waiting and running jobs by name, and jobs that failed for the last time.')
  .addOption(jsonOption())
  .action(async ({ json }: ListOptions) => {
    const jobs = await doCommand('job list', null);
    if (json) print(jobs, json);
    else {
      if (jobs.queues.length > 0) print(jobs.queues, json);
      print(jobs.dead, json, 'There are no dead jobs.');
    }
    warnOfUnavailable(jobs.unavailable);
  });
job
  .command('retry')
  .description('Run a dead job again.')
  .argument('<id>', 'ID of the job, as in the list')
  .action(async (id: string) => {
    await doCommand('job retry', { id });
    console.log(`The job ${id} will run again within seconds.`);
  });

program
  .command('clock')
  .description('The clock of a tenant that was created with --sandbox.')
  .command('advance')
  .description('Advance the clock. What falls due on the way happens in its order.')
  .argument('<tenant>', 'the tenant')
  .argument('<duration>', 'such as 40d, 12h or 30m')
  .action(async (name: string, by: string) => {
    const { now, ranTasks } = await doCommand('clock advance', { tenant: name, by });
    console.log(`It is ${now} for ${name}. ${ranTasks} tasks ran on the way.`);
  });

program
  .command('books')
  .description('The books of a tenant.')
  .command('check')
  .description(
    'Recalculate balances and sums, compare them with the stored values, and report rows that violate a rule.',
  )
  .argument('<tenant>', 'the tenant')
  .option('--repair', 'correct the sums that differ, in one transaction, with audit rows', false)
  .action(async (name: string, { repair }: { repair: boolean }) => {
    const { differences, breaches } = await doCommand('books check', { tenant: name, repair });
    const { describeBooks } = await import('../operator/books.ts');
    for (const line of describeBooks(name, { differences, breaches }, repair)) console.log(line);
    // A nightly run detects breaches by the exit code.
    if (breaches.length > 0 || (differences.length > 0 && !repair)) process.exitCode = 1;
  });

program
  .command('rows')
  .description('The stored rows of a tenant.')
  .command('check')
  .description('Read all rows as responses include them, and list those that violate the contract.')
  .argument('<tenant>', 'the tenant')
  .action(async (tenant: string) => {
    const [{ withOperator }, { describeFinding }] = await Promise.all([
      import('../operator/run-commands.ts'),
      import('../operator/rows.ts'),
    ]);
    const total = { rows: 0, findings: 0 };
    await withOperator(async (run) => {
      let after: RowPosition | null = null;
      do {
        const report: RowsReport = await run('rows check', { tenant, after });
        for (const finding of report.findings) console.log(describeFinding(finding));
        total.rows += report.checked;
        total.findings += report.findings.length;
        after = report.next;
      } while (after !== null);
    });
    if (total.findings === 0) console.log(`All ${total.rows} rows of ${tenant} match the contract.`);
    else process.exitCode = 1;
  });

program
  .command('audit')
  .description('The audit log of a tenant.')
  .command('export')
  .description('Print the audit log, one row in JSON on each line, in the order in which the rows were written.')
  .argument('<tenant>', 'the tenant')
  .option('--from <instant>', 'such as 2026-10-01T00:00:00Z; by default from the oldest row that is kept')
  .option('--to <instant>', 'exclusive; by default to the newest row')
  .action(async (tenant: string, { from = null, to = null }: { from?: string | null; to?: string | null }) => {
    const { withOperator } = await import('../operator/run-commands.ts');
    await withOperator(async (run) => {
      let after: string | null = null;
      do {
        const page: AuditPage = await run('audit export', { tenant, from, to, after });
        for (const line of page.lines) {
          // The next page is read when whoever reads the output has taken this one.
          if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain');
        }
        after = page.next;
      } while (after !== null);
    });
  });

const deliveries = program.command('deliveries').description('Deliveries of events to subscriptions.');
deliveries
  .command('replay')
  .description('Send one event again, or all events that failed since an instant and have not been delivered.')
  .argument('<tenant>', 'the tenant')
  .option('--delivery <id>', 'the ID of an attempt, as the deliveries list shows it')
  .option('--since <instant>', 'such as 2026-10-01T09:30:00Z')
  .option('--subscription <id>', 'only for this subscription')
  .action(async (name: string, options: { delivery?: string; since?: string; subscription?: string }) => {
    const { events } = await doCommand('deliveries replay', { tenant: name, ...options });
    console.log(`${events} ${events === 1 ? 'event is' : 'events are'} sent again within seconds.`);
  });

const webhook = program
  .command('webhook')
  .description('Signing secrets, and tools to try out events on a running server.');
webhook
  .command('rotate-secret')
  .description('Sign events with a new secret. The previous secret also signs until receivers have the new one.')
  .argument('<tenant>', 'the tenant')
  .option('--hours <number>', 'hours during which both sign', wholeNumber, 24)
  .action(async (name: string, options: { hours: number }) => {
    await doCommand('webhook rotate-secret', { tenant: name, ...options });
    console.log(`Events are signed with two secrets for ${options.hours} hours. The API returns the new one.`);
  });
webhook
  .command('listen')
  .description('Receive events on this machine, verify and print them, until Ctrl+C.')
  .argument('<tenant>', 'the tenant')
  .option('--types <types>', 'types of rows, separated by commas; all by default', (text) => text.split(','), [])
  .option('--url <url>', 'address of the server; from HOST and PORT by default')
  .option('--compact', 'one line for each event, without its row')
  .option('--forward <url>', 'also send each request to this address, and return its status to the server')
  .action(async (name: string, options: { types: string[]; url?: string; compact?: true; forward?: string }) => {
    const { types, url, compact, forward } = options;
    const { listenForEvents } = await import('../operator/webhook-listen.ts');
    const visit = await visitServer(name, url, 'webhook-listen');
    try {
      const listening = await listenForEvents(visit.calls, {
        types,
        print: console.log,
        isCompact: compact === true,
        ...(forward === undefined ? {} : { forwardTo: forward }),
      });
      const end = async () => {
        await listening.close();
        await visit.end();
      };
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end());
    } catch (error) {
      await visit.end();
      throw error;
    }
  });
webhook
  .command('trigger')
  .description('Change a row so that an event is emitted. Use it with a test tenant.')
  .argument('<tenant>', 'the tenant')
  .argument('<event>', `one of ${triggers.join(', ')}`)
  .option('--url <url>', 'address of the server; from HOST and PORT by default')
  .action(async (name: string, event: string, { url }: { url?: string }) => {
    const { calls, end } = await visitServer(name, url, 'webhook-trigger');
    const row = await triggerEvent(calls, event).finally(end);
    console.log(`${event} was emitted for ${row}.`);
  });

const setting = program
  .command('setting')
  .description('Settings that must be the same in all processes of a database.');
setting
  .command('list')
  .description('List what is set in the database.')
  .action(async () => {
    for (const [name, value] of Object.entries(await doCommand('setting list', null))) console.log(`${name}=${value}`);
  });
setting
  .command('set')
  .description(
    'Change a setting for all processes. Those that run have it after a restart; AUDIT_LOG_YEARS holds at once.',
  )
  .argument('<name>', 'AUDIT_LOG_YEARS, PUBLIC_URL, PAYMENT_PROCESSOR or S3_BUCKET')
  .argument('<value>', 'the value')
  .action(async (name: string, value: string) => {
    await doCommand('setting set', { name, value });
    console.log(`${name} is ${value} for all processes.`);
  });

const files = program.command('files').description('The content of files.');
files
  .command('import')
  .description('Import the files of a folder and its subfolders. If you run it again, imported files are skipped.')
  .argument('<folder>', 'the folder; names of subfolders become folder paths')
  .requiredOption('--tenant <name>', 'the tenant that gets the files')
  .option('--client <clientRef>', 'client that the files are about')
  .addOption(
    new Option('--source <source>', 'where the files come from')
      .choices(schemaOf('FileSource').enum ?? [])
      .default('DMS_DIRECT_UPLOAD'),
  )
  .action(async (folder: string, options: ImportOptions) => {
    const { importFolder } = await import('../operator/import-folder.ts');
    const { withOperator } = await import('../operator/run-commands.ts');
    const summary = await withOperator((run) =>
      importFolder(
        folder,
        options,
        (input) => run('files import', input),
        (text) => process.stderr.write(text),
      ),
    );
    console.log(summary);
  });

/** Calls the running server as an API user of the tenant. */
async function visitServer(tenant: string, url: string | undefined, user: string) {
  const [{ visitFirm }, { checkDatabaseExists, withOperator }] = await Promise.all([
    import('../operator/firm-calls.ts'),
    import('../operator/run-commands.ts'),
  ]);
  // Before the settings, which create a master key in a directory without one.
  checkDatabaseExists(process.env);
  const { host, port } = readConfig(process.env);
  const run: Run = (name, input) => withOperator((once) => once(name, input));
  return visitFirm(run, { tenant, baseUrl: url ?? localUrl(host, port), user });
}

async function doCommand<Name extends CommandName>(
  name: Name,
  input: Commands[Name]['input'],
  createsDatabase = false,
): Promise<Commands[Name]['result']> {
  const { withOperator } = await import('../operator/run-commands.ts');
  return withOperator((run) => run(name, input), { creates: createsDatabase });
}

/** A list without what is in databases that cannot be reached must not pass for a complete one. */
function warnOfUnavailable(cells: readonly string[]): void {
  if (cells.length === 0) return;
  console.error(`The list is incomplete: these databases cannot be reached: ${cells.join(', ')}.`);
  process.exitCode = 1;
}

interface ListOptions {
  readonly json: boolean;
}

function jsonOption(): Option {
  return new Option('--json', 'print JSON').default(false);
}

/** Prints a list as a table, or as JSON for programs. */
function print(rows: object, json: boolean, none = ''): void {
  if (json) console.log(JSON.stringify(rows, undefined, 2));
  else if (Array.isArray(rows) && rows.length === 0) console.log(none);
  else console.table(Array.isArray(rows) ? rows.map(oneLine) : rows);
}

/** Lists within a row are shown as text: a table has one line for each row. */
function oneLine(row: object): object {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : value]),
  );
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 3650)
    throw new InvalidArgumentError('The value must be an integer from 1 to 3650.');
  return value;
}

/** Formats the value of a setting as it is written on the command line. */
function settingText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(',');
  return String(value);
}
