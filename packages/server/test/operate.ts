import { vi } from 'vitest';
import { readConfig } from '../src/app/read-config.ts';
import { program } from '../src/main/program.ts';
import { createApiKey } from '../src/operator/api-keys.ts';
import type { Operator } from '../src/operator/operator.ts';
import { onDatabase } from '../src/operator/run-commands.ts';
import { createTenant } from '../src/operator/tenants.ts';
import type { Environment } from './process.ts';

/**
 * Does in this process what a command of the operator does in one of its own: a process loads the service anew. The embedded database
 * must not be open in another process.
 */
export function operate<Result>(
  environment: Environment,
  work: (operator: Operator) => Promise<Result>,
): Promise<Result> {
  return onDatabase(readConfig(environment), work);
}

/** Creates a tenant for the processes of a test, with an API key of each user. @returns the keys */
export function createTenantWithKeys(
  environment: Environment,
  tenant: string,
  ...users: readonly string[]
): Promise<string[]> {
  return operate(environment, async (operator) => {
    const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
    await createTenant(operator, { name: tenant, displayName: tenant, ...place });
    const keys: string[] = [];
    for (const user of users) {
      const options = { tenant, user, roles: ['API_ADMIN'], days: 1, description: undefined };
      keys.push((await createApiKey(operator, options)).key);
    }
    return keys;
  });
}

/**
 * Runs a command line in this process, which prints what `runCli` prints. Its failures are thrown.
 *
 * @returns what it prints to the standard output
 */
export async function commandLine(environment: Environment, ...args: string[]): Promise<string> {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  try {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    await program.parseAsync(args, { from: 'user' });
    return log.mock.calls.map(([text]) => `${text}\n`).join('');
  } finally {
    vi.unstubAllEnvs();
    log.mockRestore();
  }
}
