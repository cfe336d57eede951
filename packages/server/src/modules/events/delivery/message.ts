import { createHmac } from 'node:crypto';
import type { EventOperation } from '../../../contract/contract.ts';

/** An event as it is stored. */
export interface StoredEvent {
  readonly id: string;
  readonly entityType: string;
  readonly operation: EventOperation;
  readonly entityId: string;
  /** RFC 3339 */
  readonly occurredAt: string;
  /** RFC 3339, by the clock of the database. */
  readonly recordedAt: string;
  readonly sequence: number;
  /** The row, as JSON. */
  readonly data: string;
  /** Null where everything is new. */
  readonly changedFields: readonly string[] | null;
  /** The trace of the call that caused the event; null where it had none. */
  readonly traceparent: string | null;
  /** Of a payment: where it came from, and who created the link that it came through. */
  readonly source: string | null;
  readonly linkCreator: string | null;
}

/** An event as it is sent: the same bytes to all subscribers. */
export class Message {
  readonly event: Pick<
    StoredEvent,
    'id' | 'entityType' | 'operation' | 'entityId' | 'recordedAt' | 'traceparent' | 'source' | 'linkCreator'
  >;
  /** In bytes, because it is signed and sent as such. */
  readonly body: Buffer;
  #signed: { readonly key: string; readonly signature: string } | undefined;

  constructor(tenant: string, stored: StoredEvent) {
    const { id, entityType, operation, entityId, recordedAt, traceparent, source, linkCreator } = stored;
    this.body = bytesOf(messageText(tenant, stored));
    this.event = { id, entityType, operation, entityId, recordedAt, traceparent, source, linkCreator };
  }

  /**
   * The headers of an attempt (Standard Webhooks, W3C Trace Context).
   *
   * @param secrets those that are valid, the newest first. Each adds a signature.
   * @param now in milliseconds since 1970.
   * @throws Error without a secret: receivers could not tell the event from anybody else's.
   */
  headers(secrets: readonly string[], now: number): Record<string, string> {
    if (secrets.length === 0) throw new Error(`Event ${this.event.id} cannot be signed without a secret.`);
    const timestamp = Math.floor(now / 1000);
    const key = `${timestamp} ${secrets.join(' ')}`;
    // Subscribers that receive the event in the same second receive the same signature.
    if (this.#signed?.key !== key) {
      const sign = (secret: string) =>
        `v1,${createHmac('sha256', keyOf(secret)).update(`${this.event.id}.${timestamp}.`).update(this.body).digest('base64')}`;
      this.#signed = { key, signature: secrets.map(sign).join(' ') };
    }
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      'user-agent': 'financial-automation-webhooks/1',
      'webhook-id': this.event.id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': this.#signed.signature,
    };
    if (this.event.traceparent !== null) headers.traceparent = this.event.traceparent;
    return headers;
  }
}

/** An event as JSON. */
export function messageText(tenant: string, stored: StoredEvent): string {
  const { id, entityType, operation, entityId, occurredAt, sequence, data, changedFields } = stored;
  const envelope = JSON.stringify({ id, entityType, operation, entityId, tenant, occurredAt, sequence });
  // The row is put in as the database writes it: parsing it would change numbers, and cost more than all the rest.
  return `${envelope.slice(0, -1)},"data":${data},"changedFields":${JSON.stringify(changedFields ?? [])}}`;
}

/** In memory of its own. `Buffer.from` takes a part of a larger piece, all of which is kept with it. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** The key in a secret, which is `whsec_` and base64 (Standard Webhooks). */
function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice('whsec_'.length), 'base64');
}
