/**
 * Verification of webhooks. A separate entry point
 * (`@financial-automation/client/webhooks`), so that programs that only call the API do not include the cryptography.
 */
import type { CustomTypeName, components } from '@financial-automation/spec';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';

export { WebhookVerificationError };

/** The headers of a request, in any form, and its raw body, before anything parses it. */
export interface WebhookRequest {
  headers: Headers | Record<string, string | string[] | undefined>;
  body: string | Uint8Array | ArrayBuffer;
}

export type { CustomTypeName } from '@financial-automation/spec';

/**
 * Any event, narrowed by `entityType` and `operation`; the `Event` of the contract. `data` is the row as its by-id read returns it.
 * Deliveries repeat: ignore an `id` that you have processed, and for each `entityId` events whose `sequence` is lower than the last
 * one that you processed.
 */
export type WebhookEvent = components['schemas']['Event'];

/** The events of one type, and of one operation: `EventFor<'Invoice', 'UPDATE'>`. */
export type EventFor<
  EntityType extends WebhookEvent['entityType'],
  Operation extends WebhookEvent['operation'] = WebhookEvent['operation'],
> = Extract<WebhookEvent, { entityType: EntityType; operation: Operation }>;

/** Whether an event is about a custom record type, or about a certain one: `isCustomRecordEvent(event, 'Opportunity')`. */
export function isCustomRecordEvent(event: WebhookEvent, typeName?: string): event is EventFor<CustomTypeName> {
  const entityType: string = event.entityType;
  return 'attributes' in event.data && (typeName === undefined || entityType === typeName);
}

/**
 * Verifies the signature of a request, and that its time is within five minutes of now (Standard Webhooks). Returns its event.
 * `secret` is the signing secret, `whsec_…`; of several, any one is sufficient. While the secret is rotated, a request
 * has two signatures, so that the old and the new secret are both valid.
 *
 * @throws {WebhookVerificationError} if it was not sent by the service, was modified, or is too old. Return 401 then.
 */
export function verifyWebhook(request: WebhookRequest, secret: string | readonly string[]): WebhookEvent {
  const body = textOf(request.body);
  const headers = plainHeaders(request.headers);
  const secrets = typeof secret === 'string' ? [secret] : secret;
  let failure: unknown = new WebhookVerificationError('No secret was provided.');
  for (const candidate of secrets) {
    try {
      // The service signs only events that match the contract, so they are not validated again.
      return new Webhook(candidate).verify(body, headers) as WebhookEvent;
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      failure = error;
    }
  }
  throw failure;
}

function plainHeaders(headers: WebhookRequest['headers']): Record<string, string> {
  const entries = headers instanceof Headers ? Object.fromEntries(headers) : headers;
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(entries)) {
    if (typeof value === 'string') plain[name] = value;
  }
  return plain;
}

function textOf(body: WebhookRequest['body']): string {
  if (typeof body === 'string') return body;
  try {
    // Without `ignoreBOM`, a byte-order mark would be removed, and the signature would not match.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new WebhookVerificationError('The body is not UTF-8.');
  }
}
