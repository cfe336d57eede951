import { createHmac } from 'node:crypto';
import { hasRole } from '@financial-automation/spec/roles';
import { type RawBuilder, sql } from 'kysely';
import type { EventOperation } from '../../../contract/contract.ts';
import { storedFields, storedRow } from '../../../contract/stored-values.ts';
import { seesEmbedded, visibleTo } from '../../../entity/field-access.ts';
import { entityOf } from '../../../entity/registry.ts';

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
  /** Whether it reports the history of another system. */
  readonly isImport: boolean;
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

/** The secrets that are valid, the newest first. Each adds a signature. */
export class Secrets {
  /** Tells them from those before and after a rotation. */
  readonly name: string;
  readonly #keys: readonly Buffer[];

  constructor(secrets: readonly string[]) {
    this.name = secrets.join(' ');
    this.#keys = secrets.map(keyOf);
  }

  get isEmpty(): boolean {
    return this.#keys.length === 0;
  }

  /** @param head what is signed before the body. */
  sign(head: string, body: Buffer): string {
    const sign = (key: Buffer) => `v1,${createHmac('sha256', key).update(head).update(body).digest('base64')}`;
    const [first] = this.#keys;
    return first !== undefined && this.#keys.length === 1 ? sign(first) : this.#keys.map(sign).join(' ');
  }
}

interface Signed {
  readonly secrets: string;
  /** In seconds since 1970. */
  readonly timestamp: number;
  readonly signature: string;
}

/** An event as it is sent: the same bytes to all subscribers. */
export class Message {
  readonly event: Pick<
    StoredEvent,
    'id' | 'entityType' | 'operation' | 'entityId' | 'recordedAt' | 'traceparent' | 'source' | 'linkCreator'
  >;
  /** In bytes, because it is signed and sent as such. */
  readonly body: Buffer;
  #signed: Signed | undefined;

  /** @param isKept whether it is used for longer than one delivery. */
  constructor(text: string, event: Message['event'], isKept: boolean) {
    const { id, entityType, operation, entityId, recordedAt, traceparent, source, linkCreator } = event;
    this.body = isKept ? bytesOf(text) : Buffer.from(text);
    this.event = { id, entityType, operation, entityId, recordedAt, traceparent, source, linkCreator };
  }

  /** The event as a subscriber with these roles may read it. */
  visibleTo(roles: ReadonlySet<string>): Message {
    if (seesWhole(this.event.entityType, roles)) return this;
    return new Message(visibleText(this.body.toString(), this.event.entityType, roles), this.event, false);
  }

  /**
   * Signs it. Subscribers that receive the event in the same second receive the same signature.
   *
   * @param now in milliseconds since 1970.
   * @throws Error without a secret: receivers could not tell the event from anybody else's.
   */
  sign(secrets: Secrets, now: number): Signed {
    const { id } = this.event;
    if (secrets.isEmpty) throw new Error(`Event ${id} cannot be signed without a secret.`);
    const timestamp = Math.floor(now / 1000);
    if (this.#signed?.timestamp !== timestamp || this.#signed.secrets !== secrets.name) {
      const signature = secrets.sign(`${id}.${timestamp}.`, this.body);
      this.#signed = { secrets: secrets.name, timestamp, signature };
    }
    return this.#signed;
  }

  /**
   * The headers of an attempt (Standard Webhooks, W3C Trace Context), names and values in turns. Parameters and errors
   * as of `sign`.
   */
  headers(secrets: Secrets, now: number): string[] {
    const { id, traceparent } = this.event;
    const { timestamp, signature } = this.sign(secrets, now);
    const headers = [
      'content-type',
      'application/json',
      'user-agent',
      'financial-automation-webhooks/1',
      'webhook-id',
      id,
      'webhook-timestamp',
      String(timestamp),
      'webhook-signature',
      signature,
    ];
    if (traceparent !== null) headers.push('traceparent', traceparent);
    return headers;
  }
}

/** An event as JSON. */
export function messageText(tenant: string, stored: StoredEvent): string {
  const { id, entityType, operation, entityId, occurredAt, sequence, isImport, changedFields } = stored;
  const data = storedRow(entityType, operation, stored.data);
  const changed = JSON.stringify(storedFields(entityType, operation, changedFields ?? []));
  // The row is put in as the database writes it: writing it again would cost more than all the rest. What is in quotes here is a name, an
  // ID or an instant, which has nothing to escape.
  return `{"id":"${id}","entityType":"${entityType}","operation":"${operation}","entityId":"${entityId}","tenant":"${tenant}","occurredAt":"${occurredAt}","sequence":${sequence},"isImport":${isImport},"data":${data},"changedFields":${changed}}`;
}

/** The text of an event as a reader with these roles may read it: without rows of other types that its row embeds. */
export function visibleText(text: string, entityType: string, roles: ReadonlySet<string>): string {
  const entity = entityOf(entityType);
  if (entity === undefined || seesWhole(entityType, roles)) return text;
  const event = JSON.parse(text);
  return JSON.stringify({ ...event, data: visibleTo((required) => hasRole(roles, required), entity, event.data) });
}

/** Whether a reader with these roles may read all rows that rows of a type embed. Those of types that tenants define embed none. */
function seesWhole(entityType: string, roles: ReadonlySet<string>): boolean {
  const entity = entityOf(entityType);
  return entity === undefined || seesEmbedded((required) => hasRole(roles, required), entity);
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

/** What the filters of payments depend on; null for events of other types. */
export const filteredColumns = sql`
  case when event.entity_type = 'Payment' then event.data->>'source' end as source,
  case when event.entity_type = 'Payment' then (
    select created_by_api_user_id from quick_payment_link link
    where link.tenant_id = event.tenant_id and link.id = (event.data->>'quickPaymentLinkId')::uuid
  ) end as "linkCreator"`;

/** The columns of a {@link StoredEvent} without its IDs, of `recorded_event` as `event`. */
export const contentColumns = sql`
  event.entity_type as "entityType", event.operation, event.occurred_at as "occurredAt", event.recorded_at as "recordedAt", event.sequence, event.is_import as "isImport",
  event.data::text as data, event.changed_fields as "changedFields", event.traceparent, ${filteredColumns}`;

const storedColumns = sql`event.id, event.entity_id as "entityId", ${contentColumns}`;

/** The names of the columns of a {@link StoredEvent}. */
export const storedNames: readonly (keyof StoredEvent)[] = [
  'id',
  'entityId',
  'entityType',
  'operation',
  'occurredAt',
  'recordedAt',
  'sequence',
  'isImport',
  'data',
  'changedFields',
  'traceparent',
  'source',
  'linkCreator',
];

/** Selects events as {@link StoredEvent}, as `event`. */
export function selectEvents(tenantId: number, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select ${storedColumns} from recorded_event event where event.tenant_id = ${tenantId} and ${condition}`;
}

/** Selects the first events that match a condition on `event_position` as {@link StoredEvent}, in their order, with their positions. */
export function selectPositioned(tenantId: number, condition: RawBuilder<unknown>, most: number): RawBuilder<unknown> {
  return sql`
    select positioned.position, ${storedColumns}
    from (select position, event_id from event_position where tenant_id = ${tenantId} and ${condition}
      order by position limit ${most}) positioned
    join recorded_event event on event.tenant_id = ${tenantId} and event.id = positioned.event_id
    order by positioned.position`;
}
