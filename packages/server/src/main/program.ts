import { Command } from 'commander';
import { readConfig } from '../app/read-config.ts';
import { addEventCommands } from './commands/events.ts';
import { addKeyCommands } from './commands/keys.ts';
import { addProcessCommands } from './commands/processes.ts';
import { addRowCommands } from './commands/rows.ts';
import { addTenantCommands } from './commands/tenants.ts';

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

program
  .command('adopt')
  .description(
    'Make a restored database the one of this installation. Until then, its processes deliver no events, follow no payments, send no mails, and do not use other databases.',
  )
  .option('--keep <tenant=database...>', 'where a tenant is that is open in several databases', [])
  .action(async ({ keep }: { keep: string[] }) => {
    const { adoptDatabase } = await import('../operator/databases/index.ts');
    await adoptDatabase(readConfig(process.env), keep, console.log);
  });

addTenantCommands(program);
addKeyCommands(program);
addProcessCommands(program);
addRowCommands(program);
addEventCommands(program);
