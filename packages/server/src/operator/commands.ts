import { createApiKey, listApiKeys, type NewApiKey, revokeApiKey } from './api-keys.ts';
import { createTenant, type NewTenant, type Operator } from './tenants.ts';

/** What an operator can have done, by name. Each takes and gives plain JSON, so that a running server can do it too. */
export interface Commands {
  'tenant create': { takes: NewTenant; gives: { name: string } };
  'api-key create': { takes: NewApiKey; gives: { id: string; key: string; expiresAt: string } };
  'api-key list': { takes: { tenant: string }; gives: Awaited<ReturnType<typeof listApiKeys>> };
  'api-key revoke': { takes: { tenant: string; id: string }; gives: null };
  'signing-key rotate': { takes: null; gives: { kid: string } };
}

export type CommandName = keyof Commands;

type Runner<Name extends CommandName> = (
  operator: Operator,
  takes: Commands[Name]['takes'],
) => Promise<Commands[Name]['gives']>;

const runners: { [Name in CommandName]: Runner<Name> } = {
  'tenant create': async (operator, wanted) => ({ name: (await createTenant(operator, wanted)).name }),
  'api-key create': createApiKey,
  'api-key list': (operator, { tenant }) => listApiKeys(operator, tenant),
  'api-key revoke': async (operator, { tenant, id }) => {
    await revokeApiKey(operator, tenant, id);
    return null;
  },
  'signing-key rotate': async ({ service }) => ({ kid: await service.keys.rotate() }),
};

/** Does one command. @throws Error with a sentence for the operator. */
export function runCommand<Name extends CommandName>(
  operator: Operator,
  name: Name,
  takes: Commands[Name]['takes'],
): Promise<Commands[Name]['gives']> {
  return runners[name](operator, takes);
}

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(runners, name);
}
