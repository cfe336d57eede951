import { Command } from 'commander';
import { isProfile, profiles } from './profiles/profile.ts';

export const program = new Command('demo-data')
  .description('Tenants to try the API with.')
  .showHelpAfterError('Run the command with --help to see its arguments.');

program
  .command('serve')
  .description('Serve with a demo tenant, and print what to open and a request to paste.')
  .action(async () => {
    const { demo } = await import('./demo.ts');
    await demo(process.env);
  });

program
  .command('create')
  .description(
    'Create a tenant with three years of data of a firm, which end today. Stop the server first if the database is embedded. A tenant that has the data is left as it is.',
  )
  .option('--profile <name>', `size: ${Object.keys(profiles).join(', ')}`, 'tiny')
  .option('--tenant <name>', 'name of the tenant; demo_ and the profile by default')
  .option('--today <date>', 'day on which the three years end, not after the current day, which is the default')
  .action(async ({ profile, tenant: name, today }: { profile: string; tenant?: string; today?: string }) => {
    if (!isProfile(profile)) throw new Error(`Unknown profile: ${profile}.`);
    const { onDatabase, readConfig, unlimited } = await import('@financial-automation/server/service');
    const config = readConfig({ MIGRATE_AT_START: 'on', ...process.env });
    const options = { profile, name: name ?? `demo_${profile}`, today, log: console.log };
    const { createProfileTenant } = await import('./profiles/load-profile.ts');
    await onDatabase(config, (operator) => createProfileTenant({ operator, ...options }), unlimited);
  });
