import type { OperationId } from '../contract/handler.ts';
import { createToken } from '../modules/authentication/createToken.ts';
import { billing } from '../modules/billing/handlers.ts';
import { clients } from '../modules/clients/handlers.ts';
import { contacts } from '../modules/contacts/handlers.ts';
import { engagements } from '../modules/engagements/handlers.ts';
import { events } from '../modules/events/handlers.ts';
import { files } from '../modules/files/handlers.ts';
import { projects } from '../modules/projects/handlers.ts';
import { records } from '../modules/records/handlers.ts';
import { referenceData } from '../modules/reference/handlers.ts';
import { advanceSandboxClock } from '../modules/sandbox/advanceSandboxClock.ts';
import { getSandboxClock } from '../modules/sandbox/getSandboxClock.ts';
import { staffHandlers } from '../modules/staff/handlers.ts';
import { time } from '../modules/time/handlers.ts';
import type { Handler } from '../service/context.ts';
import { backgroundWork } from './jobs.ts';

/** The handlers of all operations of the contract. A missing one, or one of another shape, does not compile. */
export const handlers: { readonly [Id in OperationId]: Handler<Id> } = {
  createToken,
  ...clients,
  ...contacts,
  ...referenceData,
  ...records,
  ...projects,
  ...staffHandlers,
  ...time,
  ...billing,
  ...events,
  ...engagements,
  ...files,
  getSandboxClock,
  advanceSandboxClock: advanceSandboxClock(backgroundWork.clockTasks),
};

/** A handler of any operation; `operation-routes.ts` looks it up by the operation of the request. */
export type AnyHandler = (
  context: object,
  input: { readonly path: unknown; readonly query: unknown; readonly body: unknown; readonly bytes: unknown },
) => Promise<{ readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: unknown }>;
