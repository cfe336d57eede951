import { Rejection } from '../../contract/rejection.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { client } from './client.ts';

/** The client of a request, identified by exactly one of the two. */
export interface ClientName {
  readonly clientId?: string;
  readonly clientRef?: string;
}

/** Creates the problem of a request for a client that does not exist. */
export function unknownClientRef(clientRef: string, location: 'query' | 'body'): Rejection {
  return new Rejection('NOT_FOUND', `No client in your tenant has the clientRef ${clientRef}.`, {
    errors: [{ in: location, pointer: '/clientRef', code: 'NOT_FOUND', detail: 'No client has this clientRef.' }],
  });
}

/** @throws Rejection `NOT_FOUND` if the request contains a `clientRef` that does not exist. */
export function checkClientRef(plan: Plan, { clientRef }: ClientName): void {
  if (clientRef !== undefined && plan.find(client, 'clientRef', clientRef) === undefined)
    throw unknownClientRef(clientRef, 'body');
}

/** Returns the active client of a request. @throws Rejection `REFERENCE_NOT_FOUND` */
export function activeClient(plan: Plan, { clientId, clientRef }: ClientName): Row<'Client'> {
  const key = clientId === undefined ? 'clientRef' : 'id';
  const found = plan.find(client, key, clientId ?? clientRef ?? '');
  if (found?.active === true) return found;
  throw new Rejection(
    'REFERENCE_NOT_FOUND',
    `No active client with this ${key === 'id' ? 'ID' : key} exists.`,
    key === 'id' ? '/clientId' : '/clientRef',
  );
}
