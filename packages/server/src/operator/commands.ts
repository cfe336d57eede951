import type { SigningKeyState } from '../auth/key-ring.ts';
import type { OperatorSettings } from '../auth/tenant-settings.ts';
import { createApiKey, listApiKeys, type NewApiKey, revokeApiKey } from './api-keys.ts';
import { type BooksReport, type BooksRequest, checkBooks } from './books.ts';
import { type ReplayRequest, replayDeliveries, rotateWebhookSecret } from './deliveries.ts';
import { type ImportedFiles, type ImportResult, importFiles } from './import-files.ts';
import { type JobOverview, listJobs, retryJob } from './jobs.ts';
import { type SettingChange, setTenantSetting, showTenantSettings } from './tenant-settings.ts';
import { createTenant, type NewTenant, type Operator } from './tenants.ts';

/**
 * The operator's commands by name. Arguments and results are plain JSON, so that a running server can execute them too.
 */
export interface Commands {
  'tenant create': { takes: NewTenant; gives: { name: string } };
  'tenant set': { takes: SettingChange; gives: OperatorSettings };
  'tenant show': { takes: { tenant: string }; gives: OperatorSettings };
  'api-key create': { takes: NewApiKey; gives: { id: string; key: string; expiresAt: string } };
  'api-key list': { takes: { tenant: string }; gives: Awaited<ReturnType<typeof listApiKeys>> };
  'api-key revoke': { takes: { tenant: string; id: string }; gives: null };
  'signing-key list': { takes: null; gives: SigningKeyState[] };
  'signing-key rotate': { takes: null; gives: { kid: string } };
  'signing-key retire': { takes: { kid: string }; gives: null };
  'files import': { takes: ImportedFiles; gives: ImportResult };
  'job list': { takes: null; gives: JobOverview };
  'job retry': { takes: { id: string }; gives: null };
  'books check': { takes: BooksRequest; gives: BooksReport };
  'deliveries replay': { takes: ReplayRequest; gives: { events: number } };
  'webhook rotate-secret': { takes: { tenant: string; hours: number }; gives: null };
}

export type CommandName = keyof Commands;

type Runner<Name extends CommandName> = (
  operator: Operator,
  takes: Commands[Name]['takes'],
) => Promise<Commands[Name]['gives']>;

const runners: { [Name in CommandName]: Runner<Name> } = {
  'tenant create': async (operator, wanted) => ({ name: (await createTenant(operator, wanted)).name }),
  'tenant set': setTenantSetting,
  'tenant show': (operator, { tenant }) => showTenantSettings(operator, tenant),
  'api-key create': createApiKey,
  'api-key list': (operator, { tenant }) => listApiKeys(operator, tenant),
  'api-key revoke': async (operator, { tenant, id }) => {
    await revokeApiKey(operator, tenant, id);
    return null;
  },
  'signing-key list': ({ service }) => service.keys.list(),
  'signing-key rotate': async ({ service }) => ({ kid: await service.keys.rotate() }),
  'signing-key retire': async ({ service }, { kid }) => {
    await service.keys.retire(kid);
    return null;
  },
  'files import': importFiles,
  'job list': listJobs,
  'job retry': async (operator, { id }) => {
    await retryJob(operator, id);
    return null;
  },
  'books check': checkBooks,
  'deliveries replay': replayDeliveries,
  'webhook rotate-secret': rotateWebhookSecret,
};

/** Runs one command. @throws Error with a sentence for the operator. */
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
