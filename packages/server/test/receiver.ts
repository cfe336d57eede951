import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { Webhook } from 'standardwebhooks';
import { contract } from '../src/contract/contract.ts';
import { atEnd } from './at-end.ts';
import { portOf } from './free-port.ts';

/** An event as it was received. */
export interface Received {
  readonly id: string;
  readonly entityType: string;
  readonly operation: string;
  readonly entityId: string;
  readonly tenant: string;
  readonly sequence: number;
  readonly occurredAt: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly changedFields: readonly string[];
}

export interface Arrival {
  readonly event: Received;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** `performance.now()` */
  readonly at: number;
}

/** Defines the response of a receiver. If this returns without ending the response, the receiver sends 200. */
export type Respond = (arrival: Arrival, response: ServerResponse) => unknown;

export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly arrivals: Arrival[];
  /** Errors of received events: an invalid signature, or a body that violates the contract. */
  readonly faults: string[];
  respond: Respond;
  /** The accepted secrets. Without one, signatures are not verified. */
  secrets: readonly string[];
  close(): Promise<void>;
}

const ajv = new Ajv2020({ strict: false, formats: { decimal: true } });
addFormats.default(ajv);
// A copy, because the request validator hides parts of every schema that an Ajv of this process gets.
ajv.addSchema(structuredClone(contract), 'contract');

/** Returns the reason that a body is not an event of the contract, or undefined. */
export function eventFault({ entityType, operation, ...event }: Received): string | undefined {
  const declared = Object.values(contract.webhooks).filter(({ post }) => post['x-event'].operation === operation);
  const webhook =
    declared.find(({ post }) => post['x-event'].entityType === entityType) ??
    declared.find(({ post }) => post['x-event'].entityType === 'CustomRecord');
  const reference = Reflect.get(webhook?.post ?? {}, 'requestBody')?.content['application/json'].schema.$ref;
  if (typeof reference !== 'string') return `The contract has no webhook for ${entityType} ${operation}.`;
  const validate = ajv.getSchema(`contract${reference}`);
  if (validate === undefined) return `The contract has no schema ${reference}.`;
  return validate({ entityType, operation, ...event }) ? undefined : ajv.errorsText(validate.errors);
}

/** Receives events until the test file ends, and validates each of them against the contract. */
export async function startReceiver(tls?: { readonly key: string; readonly cert: string }): Promise<Receiver> {
  const receiver: Pick<Receiver, 'arrivals' | 'faults' | 'respond' | 'secrets'> = {
    arrivals: [],
    faults: [],
    respond: () => undefined,
    secrets: [],
  };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const arrival = {
      event: JSON.parse(body) as Received,
      path: request.url ?? '',
      headers: request.headers,
      body,
      at: performance.now(),
    };
    receiver.arrivals.push(arrival);
    const fault = eventFault(arrival.event) ?? signatureFault(arrival, receiver.secrets);
    if (fault !== undefined) receiver.faults.push(fault);
    await receiver.respond(arrival, response);
    if (!response.writableEnded && !response.headersSent) response.end('ok');
  };
  const server: Server =
    tls === undefined
      ? createServer((request, response) => void handle(request, response))
      : createTlsServer(tls, (request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections());
  atEnd(() => (server.listening ? close() : undefined));
  const port = portOf(server);
  return Object.assign(receiver, { url: `http${tls ? 's' : ''}://localhost:${port}/hooks`, port, close });
}

function signatureFault({ headers, body }: Arrival, secrets: readonly string[]): string | undefined {
  if (secrets.length === 0) return undefined;
  const plain = Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
  const isVerified = secrets.some((secret) => {
    try {
      new Webhook(secret).verify(body, plain);
      return true;
    } catch {
      return false;
    }
  });
  return isVerified ? undefined : 'No signature verifies.';
}
