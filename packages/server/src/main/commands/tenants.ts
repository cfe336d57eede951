import type { Command } from 'commander';
import { settingSchemas } from '../../admission/tenant-settings.ts';
import type { MoveOptions } from '../../operator/run-moves.ts';
import { pasteable } from '../../platform/operator-command.ts';
import { doCommand, jsonOption, type ListOptions, print, warnOfUnavailable, wholeNumber } from './run-and-print.ts';

/** The commands of tenants. */
export function addTenantCommands(program: Command): void {
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
        await doCommand(
          'tenant create',
          { ...options, name, displayName: options.displayName ?? name },
          { creates: true },
        );
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
      const open = found.filter(({ active }) => active).map(({ name }) => name);
      const twice = new Set(open.filter((name, index) => open.indexOf(name) !== index));
      if (twice.size > 0) {
        console.error(
          `Open in several databases: ${[...twice].join(', ')}. "operator adopt --keep" closes all but one.`,
        );
        process.exitCode = 1;
      }
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
    .alias('suspend')
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
    .command('rename')
    .description(
      'Give a tenant another name. API keys and callers can still use the former one, which no other tenant gets.',
    )
    .argument('<name>', 'the tenant')
    .argument('<new-name>', 'the new name, as in the Tenant header: a-z, 0-9 and _')
    .action(async (name: string, to: string) => {
      await doCommand('tenant rename', { tenant: name, to });
      console.log(`The tenant ${name} is ${to} within 5 seconds.`);
    });
  tenant
    .command('delete')
    .description(
      'Delete a tenant that is closed and was exported since: the first call says from when on it can be deleted, a call after that deletes all of it and prints a certificate.',
    )
    .argument('<name>', 'the tenant')
    .option('--days <number>', 'days that it waits', wholeNumber, 30)
    .action(async (name: string, { days }: { days: number }) => {
      const { runDelete } = await import('../../operator/run-copies.ts');
      await runDelete({ tenant: name, days });
    });
  tenant
    .command('export')
    .description(
      'Write all of a tenant to a file: all rows as of one moment, and the content of its files. It works meanwhile. TRANSFER_KEY, 32 bytes in base64, encrypts the secrets instead of MASTER_KEY.',
    )
    .argument('<name>', 'the tenant')
    .requiredOption('--to <file>', 'a new file, compressed if its name ends in .gz, or - for standard output')
    .action(async (name: string, { to }: { to: string }) => {
      const { exportToFile } = await import('../../operator/run-copies.ts');
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
      const { importFromFile } = await import('../../operator/run-copies.ts');
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
      const { runMove } = await import('../../operator/run-moves.ts');
      await runMove(name, options);
    });
}

/** Formats the value of a setting as it is written on the command line. */
function settingText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(',');
  return String(value);
}
