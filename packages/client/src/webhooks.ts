/**
 * Receiving webhooks: whether a request is one of ours, and what it says. An entry of its own
 * (`@financial-automation/client/webhooks`), so that programs that only call the API do not carry the cryptography.
 */
import type { components, Readable, webhooks } from '@financial-automation/spec';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';

export { WebhookVerificationError };

/** A request as it came: its headers, of whichever kind, and its body, byte for byte, before anything has parsed it. */
export interface WebhookRequest {
  headers: Headers | Record<string, string | string[] | undefined>;
  body: string | Uint8Array | ArrayBuffer;
}

/**
 * The name of a custom record type: a string, but none that the contract knows. An enum to TypeScript, because comparing
 * `entityType` with a standard name then rules events of custom types out, as it could not with `string`.
 */
declare enum CustomTypeName {
  Name = '',
}

export type { CustomTypeName };

type Schemas = components['schemas'];
type Envelope = Schemas['EventEnvelope'];
type Flat<Type> = { [Key in keyof Type]: Type[Key] };

// Each event is declared as the envelope and what it makes of it. The envelope's `data` is any object, which in an
// intersection would leave nothing of the row's type.
type EventOf<Item> = Item extends { post: { requestBody: { content: { 'application/json': Envelope & infer Own } } } }
  ? Own extends { operation?: infer Operation; data?: infer Data }
    ? 'entityType' extends keyof Own
      ? EventWith<Exclude<Own['entityType'], undefined>, Operation, Data>
      : EventWith<CustomTypeName, Operation, Data>
    : never
  : never;

type EventWith<EntityType, Operation, Data> = Flat<
  Omit<Readable<Envelope>, 'entityType' | 'operation' | 'data'> & {
    entityType: EntityType;
    operation: Operation;
    // Where an event narrows a field of its row to null, TypeScript sees a contradiction, and the row's own type has to do.
    data: Readable<[Data] extends [never] ? Schemas[EntityType & keyof Schemas] : Data>;
  }
>;

/**
 * Every event that the service sends, told apart by `entityType` and `operation`. `data` is the row as its by-id read
 * shows it. Deliveries repeat: take an `id` that you have seen for a repetition, and for each `entityId` leave out what has
 * a lower `sequence` than you have seen.
 */
export type WebhookEvent = { [Name in keyof webhooks]: EventOf<webhooks[Name]> }[keyof webhooks];

/** The events of one type, and of one operation: `EventFor<'Invoice', 'UPDATE'>`. */
export type EventFor<
  EntityType extends WebhookEvent['entityType'],
  Operation extends WebhookEvent['operation'] = WebhookEvent['operation'],
> = Extract<WebhookEvent, { entityType: EntityType; operation: Operation }>;

/** Whether an event is of a custom record type, and of the one that is named: `isCustomRecordEvent(event, 'Opportunity')`. */
export function isCustomRecordEvent(event: WebhookEvent, typeName?: string): event is EventFor<CustomTypeName> {
  const entityType: string = event.entityType;
  return 'attributes' in event.data && (typeName === undefined || entityType === typeName);
}

/**
 * The event of a request, once its signature is found good and its time within five minutes of now (Standard Webhooks).
 * `secret` is the signing secret, `whsec_…`; with several, any one of them will do. While the secret is rotated, a request
 * carries two signatures, so that the old secret and the new one both hold.
 *
 * @throws {WebhookVerificationError} where it is not one of ours, was changed on its way, or is too old. Answer 401 then.
 */
export function verifyWebhook(request: WebhookRequest, secret: string | readonly string[]): WebhookEvent {
  const body = textOf(request.body);
  const headers = plainHeaders(request.headers);
  const secrets = typeof secret === 'string' ? [secret] : secret;
  let refusal: unknown = new WebhookVerificationError('There is no secret to verify with.');
  for (const candidate of secrets) {
    try {
      // What is signed by the service is what its contract declares; it is not checked again.
      return new Webhook(candidate).verify(body, headers) as WebhookEvent;
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

function plainHeaders(headers: WebhookRequest['headers']): Record<string, string> {
  const given = headers instanceof Headers ? Object.fromEntries(headers) : headers;
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === 'string') plain[name] = value;
  }
  return plain;
}

function textOf(body: WebhookRequest['body']): string {
  if (typeof body === 'string') return body;
  try {
    // Without `ignoreBOM`, a byte-order mark would be dropped, and with it the signature would not fit.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new WebhookVerificationError('The body is not UTF-8.');
  }
}
