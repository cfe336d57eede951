import { createApiKey, listApiKeys, revokeApiKey } from './api-keys.ts';
import { exportAudit } from './audit.ts';
import { checkBooks } from './books.ts';
import { advanceTenantClock } from './clock.ts';
import { exportTenant, importTenant } from './copies/index.ts';
import { addCell, listCells, removeCell, setCellAddress } from './databases/index.ts';
import { replayDeliveries, rotateWebhookSecret } from './deliveries.ts';
import { erasePerson } from './erase-person.ts';
import { importFiles } from './import-files.ts';
import { listJobs, retryJob } from './jobs.ts';
import { deleteTenant, renameTenant } from './leave.ts';
import { cancelMove, type MoveRequest, moveTenant, removeOldCopies } from './moves/index.ts';
import type { Operator } from './operator.ts';
import { reencryptAll } from './reencrypt.ts';
import { debugToken, requestNamed } from './requests.ts';
import { checkRows } from './rows.ts';
import { listSharedSettings, setSharedSetting } from './shared-settings.ts';
import { setTenantSetting, showTenantSettings } from './tenant-settings.ts';
import { createTenant, listTenants, type NewTenant, setTenantOpen } from './tenants.ts';

interface Named {
  readonly tenant: string;
}

interface Identified {
  readonly id: string;
}

/**
 * The operator's commands by name. Arguments and results are plain JSON, so that a running server can execute them too.
 */
const commands = {
  'tenant create': async (operator: Operator, input: NewTenant) => ({
    name: (await createTenant(operator, input)).name,
  }),
  'tenant list': listTenants,
  'tenant set': setTenantSetting,
  'tenant show': (operator: Operator, { tenant }: Named) => showTenantSettings(operator, tenant),
  'tenant open': (operator: Operator, { tenant }: Named) => setTenantOpen(operator, tenant, true),
  'tenant close': (operator: Operator, { tenant }: Named) => setTenantOpen(operator, tenant, false),
  'tenant export': exportTenant,
  'tenant import': importTenant,
  'tenant delete': deleteTenant,
  'tenant rename': renameTenant,
  'tenant move': (operator: Operator, input: MoveRequest) => moveTenant(operator, input),
  'tenant move --cancel': (operator: Operator, { tenant }: Named) => cancelMove(operator, tenant),
  'tenant move --remove-old': (operator: Operator, { tenant }: Named) => removeOldCopies(operator, tenant),
  'api-key create': createApiKey,
  'api-key list': (operator: Operator, { tenant }: Named) => listApiKeys(operator, tenant),
  'api-key revoke': (operator: Operator, { tenant, id }: Named & Identified) => revokeApiKey(operator, tenant, id),
  'cell add': addCell,
  'cell set-address': setCellAddress,
  'cell remove': removeCell,
  'request find': requestNamed,
  'request debug-token': debugToken,
  'cell list': listCells,
  'setting list': listSharedSettings,
  'setting set': setSharedSetting,
  'signing-key list': ({ service }: Operator) => service.keys.list(),
  'signing-key rotate': async ({ service }: Operator) => ({ kid: await service.keys.rotate() }),
  'signing-key retire': ({ service }: Operator, { kid }: { readonly kid: string }) => service.keys.retire(kid),
  'master-key reencrypt': reencryptAll,
  'files import': importFiles,
  'job list': listJobs,
  'job retry': (operator: Operator, { id }: Identified) => retryJob(operator, id),
  'books check': checkBooks,
  'audit export': exportAudit,
  'rows check': checkRows,
  'deliveries replay': replayDeliveries,
  'clock advance': advanceTenantClock,
  'person erase': erasePerson,
  'webhook rotate-secret': rotateWebhookSecret,
};

type TypesOf<Command> = Command extends (operator: never, input: infer Input) => Promise<infer Result>
  ? { readonly input: unknown extends Input ? null : Input; readonly result: Result }
  : never;

export type CommandName = keyof typeof commands;
export type Commands = { readonly [Name in CommandName]: TypesOf<(typeof commands)[Name]> };

const runners: {
  readonly [Name in CommandName]: (
    operator: Operator,
    input: Commands[Name]['input'],
  ) => Promise<Commands[Name]['result']>;
} = commands;

/** Runs one command. @throws Error with a sentence for the operator. */
export function runCommand<Name extends CommandName>(
  operator: Operator,
  name: Name,
  input: Commands[Name]['input'],
): Promise<Commands[Name]['result']> {
  return runners[name](operator, input);
}

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(runners, name);
}
