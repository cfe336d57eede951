import type { Handler } from '../context.ts';
import type { OperationId } from '../contract/handler.ts';
import { createToken } from './authentication/createToken.ts';
import { billing } from './billing/handlers.ts';
import { clients } from './clients/handlers.ts';
import { contacts } from './contacts/handlers.ts';
import { engagements } from './engagements/handlers.ts';
import { events } from './events/handlers.ts';
import { files } from './files/handlers.ts';
import { projects } from './projects/handlers.ts';
import { records } from './records/handlers.ts';
import { staffHandlers } from './staff/handlers.ts';
import { time } from './time/handlers.ts';

/** The handlers of all operations of the contract. A missing one, or one of another shape, does not compile. */
export const handlers: { readonly [Id in OperationId]: Handler<Id> } = {
  createToken,
  ...clients,
  ...contacts,
  ...records,
  ...projects,
  ...staffHandlers,
  ...time,
  ...billing,
  ...events,
  ...engagements,
  ...files,
};

/** A handler of any operation; `operation-routes.ts` looks it up by the operation of the request. */
export type AnyHandler = (
  context: object,
  input: { readonly path: unknown; readonly query: unknown; readonly body: unknown; readonly bytes: unknown },
) => Promise<{ readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body: unknown }>;
