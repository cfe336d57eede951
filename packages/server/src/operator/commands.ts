import type { SettingChange } from '../admission/change-setting.ts';
import type { OperatorSettings } from '../admission/tenant-settings.ts';
import type { SigningKeyState } from '../platform/auth/key-ring.ts';
import type { SharedValues } from '../platform/process/shared-settings.ts';
import { createApiKey, listApiKeys, type NewApiKey, revokeApiKey } from './api-keys.ts';
import { type AuditPage, type AuditRequest, exportAudit } from './audit.ts';
import { type BooksReport, type BooksRequest, checkBooks } from './books.ts';
import { advanceTenantClock } from './clock.ts';
import {
  type ExportRequest,
  type ExportSummary,
  exportTenant,
  type ImportRequest,
  type ImportSummary,
  importTenant,
} from './copies/index.ts';
import { addCell, type CellRequest, type CellSummary, listCells, setCellAddress } from './databases/index.ts';
import { type ReplayRequest, replayDeliveries, rotateWebhookSecret } from './deliveries.ts';
import { type Erasure, type ErasureRequest, erasePerson } from './erase-person.ts';
import { type ImportedFiles, type ImportResult, importFiles } from './import-files.ts';
import { type JobOverview, listJobs, retryJob } from './jobs.ts';
import { type DeleteRequest, type Deletion, deleteTenant, type RenameRequest, renameTenant } from './leave.ts';
import { cancelMove, type MoveRequest, type MoveSummary, moveTenant, removeOldCopies } from './moves/index.ts';
import type { Operator } from './operator.ts';
import { debugToken, type FoundRequest, requestNamed } from './requests.ts';
import { checkRows, type RowsReport, type RowsRequest } from './rows.ts';
import { listSharedSettings, type SharedSettingChange, setSharedSetting } from './shared-settings.ts';
import { setTenantSetting, showTenantSettings } from './tenant-settings.ts';
import {
  createTenant,
  type InAllCells,
  listTenants,
  type NewTenant,
  setTenantOpen,
  type TenantSummary,
} from './tenants.ts';

/**
 * The operator's commands by name. Arguments and results are plain JSON, so that a running server can execute them too.
 */
export interface Commands {
  'tenant create': { input: NewTenant; result: { name: string } };
  'tenant list': { input: null; result: InAllCells<TenantSummary> };
  'tenant set': { input: SettingChange; result: OperatorSettings };
  'tenant show': { input: { tenant: string }; result: OperatorSettings };
  'tenant open': { input: { tenant: string }; result: null };
  'tenant close': { input: { tenant: string }; result: null };
  'tenant export': { input: ExportRequest; result: ExportSummary };
  'tenant import': { input: ImportRequest; result: ImportSummary };
  'tenant delete': { input: DeleteRequest; result: Deletion };
  'tenant rename': { input: RenameRequest; result: null };
  'tenant move': { input: MoveRequest; result: MoveSummary };
  'tenant move --cancel': { input: { tenant: string }; result: null };
  'tenant move --remove-old': { input: { tenant: string }; result: { cells: readonly string[] } };
  'api-key create': { input: NewApiKey; result: { id: string; key: string; expiresAt: string } };
  'api-key list': { input: { tenant: string }; result: Awaited<ReturnType<typeof listApiKeys>> };
  'api-key revoke': { input: { tenant: string; id: string }; result: null };
  'cell add': { input: CellRequest; result: { number: number } };
  'cell set-address': { input: CellRequest; result: null };
  'cell list': { input: null; result: CellSummary[] };
  'request find': { input: { id: string }; result: FoundRequest };
  'request debug-token': { input: { minutes: number }; result: { token: string; expiresAt: string } };
  'setting list': { input: null; result: SharedValues };
  'setting set': { input: SharedSettingChange; result: SharedValues };
  'signing-key list': { input: null; result: SigningKeyState[] };
  'signing-key rotate': { input: null; result: { kid: string } };
  'signing-key retire': { input: { kid: string }; result: null };
  'files import': { input: ImportedFiles; result: ImportResult };
  'job list': { input: null; result: JobOverview };
  'job retry': { input: { id: string }; result: null };
  'books check': { input: BooksRequest; result: BooksReport };
  'audit export': { input: AuditRequest; result: AuditPage };
  'rows check': { input: RowsRequest; result: RowsReport };
  'deliveries replay': { input: ReplayRequest; result: { events: number } };
  'clock advance': {
    input: { tenant: string; by: string };
    result: { now: string; offsetSeconds: number; ranTasks: number };
  };
  'person erase': { input: ErasureRequest; result: Erasure };
  'webhook rotate-secret': { input: { tenant: string; hours: number }; result: null };
}

export type CommandName = keyof Commands;

type Runner<Name extends CommandName> = (
  operator: Operator,
  input: Commands[Name]['input'],
) => Promise<Commands[Name]['result']>;

const runners: { [Name in CommandName]: Runner<Name> } = {
  'tenant create': async (operator, input) => ({ name: (await createTenant(operator, input)).name }),
  'tenant list': listTenants,
  'tenant set': setTenantSetting,
  'tenant show': (operator, { tenant }) => showTenantSettings(operator, tenant),
  'tenant open': async (operator, { tenant }) => {
    await setTenantOpen(operator, tenant, true);
    return null;
  },
  'tenant close': async (operator, { tenant }) => {
    await setTenantOpen(operator, tenant, false);
    return null;
  },
  'tenant export': exportTenant,
  'tenant import': importTenant,
  'tenant delete': deleteTenant,
  'tenant rename': renameTenant,
  'tenant move': (operator, input) => moveTenant(operator, input),
  'tenant move --cancel': (operator, { tenant }) => cancelMove(operator, tenant),
  'tenant move --remove-old': (operator, { tenant }) => removeOldCopies(operator, tenant),
  'api-key create': createApiKey,
  'api-key list': (operator, { tenant }) => listApiKeys(operator, tenant),
  'api-key revoke': async (operator, { tenant, id }) => {
    await revokeApiKey(operator, tenant, id);
    return null;
  },
  'cell add': addCell,
  'cell set-address': setCellAddress,
  'request find': requestNamed,
  'request debug-token': debugToken,
  'cell list': listCells,
  'setting list': listSharedSettings,
  'setting set': setSharedSetting,
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
  'audit export': exportAudit,
  'rows check': checkRows,
  'deliveries replay': replayDeliveries,
  'clock advance': advanceTenantClock,
  'person erase': erasePerson,
  'webhook rotate-secret': rotateWebhookSecret,
};

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
