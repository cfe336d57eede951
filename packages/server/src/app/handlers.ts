import type { OperationId } from '../contract/handler.ts';
import type { Handler } from '../entity/context.ts';
import { createToken, getMe } from '../modules/authentication/index.ts';
import { billing } from '../modules/billing/index.ts';
import { clients } from '../modules/clients/index.ts';
import { contacts } from '../modules/contacts/index.ts';
import { engagements } from '../modules/engagements/index.ts';
import { events } from '../modules/events/index.ts';
import { files } from '../modules/files/index.ts';
import { merging } from '../modules/merging/index.ts';
import { projects } from '../modules/projects/index.ts';
import { records } from '../modules/records/index.ts';
import { referenceData } from '../modules/reference/index.ts';
import { advanceSandboxClock, getSandboxClock } from '../modules/sandbox/index.ts';
import { staffHandlers } from '../modules/staff/index.ts';
import { time } from '../modules/time/index.ts';
import { backgroundWork } from './jobs.ts';

/** The handlers of all operations of the contract. A missing one, or one of another shape, does not compile. */
export const handlers: { readonly [Id in OperationId]: Handler<Id> } = {
  createToken,
  getMe,
  ...clients,
  ...contacts,
  ...merging,
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
