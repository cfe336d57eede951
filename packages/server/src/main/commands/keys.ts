import type { Command } from 'commander';
import { doCommand, jsonOption, type ListOptions, print, wholeNumber } from './run-and-print.ts';

interface NewKeyOptions {
  readonly roles: string[];
  readonly staff?: string;
  readonly days: number;
  readonly description?: string;
}

/** The commands of API keys, and of the keys that sign them. */
export function addKeyCommands(program: Command): void {
  const apiKey = program.command('api-key').description('API keys, which are exchanged for access tokens.');
  apiKey
    .command('create')
    .description('Create an API key for an API user, and the API user if it does not exist. The key is shown once.')
    .argument('<tenant>', 'the tenant')
    .argument('<user>', 'the name of the API user, such as hartwell-crm')
    .requiredOption('--roles <roles>', 'role names, separated by commas', (text) =>
      text.split(',').map((role) => role.trim()),
    )
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

  program
    .command('master-key')
    .description('The key that encrypts signing keys, webhook secrets and tax IDs.')
    .command('reencrypt')
    .description(
      'Encrypt again with the first key of MASTER_KEY what another one of its keys has encrypted. It works meanwhile.',
    )
    .action(async () => {
      const { values, reencrypted } = await doCommand('master-key reencrypt', null, { isLong: true });
      console.log(
        `${reencrypted} of ${values} values were under another key. All are under the first key of MASTER_KEY now.`,
      );
    });
}
