import { Command, InvalidArgumentError } from 'commander';
import { pino } from 'pino';
import { Directory } from './auth/directory.ts';
import { KeyRing } from './auth/key-ring.ts';
import { Tokens } from './auth/tokens.ts';
import { Vault } from './auth/vault.ts';
import { readConfig } from './config.ts';
import { demo } from './demo.ts';
import { databaseOf, serve } from './main.ts';
import { type CommandName, type Commands, runCommand } from './operator/commands.ts';
import { askServer } from './operator/socket.ts';
import { openStore } from './store/store.ts';

const program = new Command('financial-automation')
  .description('The Financial Automation API: the server, and what its operator does.')
  .showHelpAfterError('Run it with --help to see what it takes.');

program
  .command('serve')
  .description('Serve the API. Settings come from the environment; CONTRIBUTING.md lists them.')
  .action(async () => {
    await serve(process.env);
  });

program
  .command('demo')
  .description('Serve with a demo tenant, and print what to open and a request to paste.')
  .action(() => demo(process.env));

const tenant = program.command('tenant').description('Tenants: the firms that the server works for.');
tenant
  .command('create')
  .description('Make a tenant, with the first legal entity of the firm.')
  .argument('<name>', 'what calls carry in the Tenant header: a-z, 0-9 and _')
  .option('--display-name <text>', 'the name of the firm; the tenant name, if left out')
  .option('--currency <code>', 'ISO 4217', 'USD')
  .option('--time-zone <zone>', 'IANA', 'America/New_York')
  .option('--country <code>', 'ISO 3166 alpha-2', 'US')
  .action(
    async (name: string, options: { displayName?: string; currency: string; timeZone: string; country: string }) => {
      await doCommand('tenant create', { ...options, name, displayName: options.displayName ?? name });
      console.log(`The tenant ${name} is made. Next: api-key create ${name} <user> --roles API_ADMIN`);
    },
  );

const apiKey = program.command('api-key').description('API keys, which are exchanged for access tokens.');
apiKey
  .command('create')
  .description('Make an API key for an API user, who is made if there is none of that name. The key is shown once.')
  .argument('<tenant>', 'the tenant')
  .argument('<user>', 'the name of the API user, such as hartwell-crm')
  .requiredOption('--roles <roles>', 'role names, separated by commas', (text) => text.split(','))
  .option('--days <number>', 'how long it is valid', wholeNumber, 365)
  .option('--description <text>', 'what it is for')
  .action(async (name: string, user: string, options: { roles: string[]; days: number; description?: string }) => {
    const made = await doCommand('api-key create', {
      ...options,
      tenant: name,
      user,
      description: options.description,
    });
    console.log(`${made.key}\n`);
    console.error(`Key ${made.id} of ${user}, valid until ${made.expiresAt}. It is not shown again: store it now.`);
  });
apiKey
  .command('list')
  .description('List the API keys of a tenant, the newest first.')
  .argument('<tenant>', 'the tenant')
  .action(async (name: string) => {
    const keys = await doCommand('api-key list', { tenant: name });
    if (keys.length === 0) console.log(`The tenant ${name} has no API keys.`);
    else console.table(keys.map((key) => ({ ...key, roles: key.roles.join(',') })));
  });
apiKey
  .command('revoke')
  .description('End an API key, and the tokens that it was exchanged for.')
  .argument('<tenant>', 'the tenant')
  .argument('<id>', 'the id of the key, as the list shows it')
  .action(async (name: string, id: string) => {
    await doCommand('api-key revoke', { tenant: name, id });
    console.log(`The key ${id} is revoked. Its tokens end within seconds.`);
  });

program
  .command('signing-key')
  .description('The key that signs API keys and tokens.')
  .command('rotate')
  .description('Sign with a new key from now on. What the old ones have signed stays valid until it expires.')
  .action(async () => {
    const { kid } = await doCommand('signing-key rotate', null);
    console.log(`New keys and tokens are signed with ${kid}.`);
  });

try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

/** Does a command: through the running server, which alone may touch the embedded database, or on the database itself. */
async function doCommand<Name extends CommandName>(
  name: Name,
  takes: Commands[Name]['takes'],
): Promise<Commands[Name]['gives']> {
  const config = readConfig(process.env);
  const asked = config.databaseUrl === undefined ? await askServer(config.dataDir, name, takes) : undefined;
  if (asked !== undefined) return asked.gives;
  const store = await openStore({ ...databaseOf(config), log: pino({ level: 'silent' }) });
  try {
    const vault = new Vault(config.masterKey);
    const keys = await KeyRing.open(store, vault);
    const operator = { service: { store, vault, keys, tokens: new Tokens(keys), directory: new Directory(store) } };
    return await runCommand(operator, name, takes);
  } finally {
    await store.close();
  }
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 3650)
    throw new InvalidArgumentError('It must be a whole number from 1 to 3650.');
  return value;
}
