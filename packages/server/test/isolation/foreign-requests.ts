import type { Random } from '@financial-automation/demo-data/profiles/random';
import { v7 as uuidv7 } from 'uuid';
import { type BaseRequest, snake } from './base-requests.ts';
import { mark } from './marked-tenant.ts';
import type { TenantValues } from './tenant-values.ts';

/** A request as it is sent. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** A request with values of another tenant, and the same one with unknown values. */
export interface ForeignRequest {
  /** With values of the tenant that sends it. */
  readonly own: WireRequest;
  readonly foreign: WireRequest;
  readonly unknown: WireRequest;
  /** The values of the other tenant in the request. */
  readonly sent: readonly string[];
  /** The unknown values in the request. */
  readonly unknownSent: readonly string[];
}

/** A place in a request for a value of the other tenant. */
interface Slot {
  readonly where: 'path' | 'query' | 'body' | 'header';
  readonly keys: readonly (string | number)[];
  readonly value: string;
  readonly kind: 'id' | 'text' | 'cursor';
  /** The table of an ID, the column of a text. */
  readonly pool: string;
}

const idPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/**
 * Maximum number of values of each table and column that are ever sent, so that a leak of any other value is detected at
 * any time.
 */
const sentPerPool = 12;
/** An unknown value that sorts next to the foreign one, with the same length. */
const unknownMark = `${mark.slice(0, -1)}b`;

/** Inserts values of another tenant into requests. */
export class ForeignRequests {
  readonly #random: Random;
  readonly #own: TenantValues;
  readonly #others: TenantValues;
  readonly #cursors: readonly string[];
  readonly #tags: readonly string[];
  readonly #unknownIds = new Map<string, string>();
  #serial = 0;

  constructor(
    random: Random,
    own: TenantValues,
    others: TenantValues,
    { cursors, tags }: { readonly cursors: readonly string[]; readonly tags: readonly string[] },
  ) {
    this.#random = random;
    this.#own = own;
    this.#others = others;
    this.#cursors = cursors;
    this.#tags = tags;
  }

  /** The foreign ID for each unknown ID. */
  get foreignOf(): ReadonlyMap<string, string> {
    return new Map([...this.#unknownIds].map(([foreign, unknown]) => [unknown, foreign]));
  }

  /**
   * Chooses places of a request for foreign values. Each call of the returned function inserts other values.
   *
   * @returns undefined if the request has no such place.
   */
  of(base: BaseRequest): (() => ForeignRequest) | undefined {
    const headers: Record<string, string> = {};
    const { headers: allowed } = base.operation;
    if ('Idempotency-Key' in allowed && this.#random.chance(0.3)) headers['Idempotency-Key'] = 'any';
    if ('If-Match' in allowed && this.#random.chance(0.3)) headers['If-Match'] = this.#oneOf(this.#tags) ?? '"1"';
    const request = { path: base.path, query: base.query, body: structuredClone(base.body), header: headers };
    const slots = [...this.#slots(request)];
    const places = slots.filter((slot) => this.#candidates(slot).length > 0);
    if (places.length === 0) return undefined;
    // Always one place, and others at random.
    const first = places[this.#random.below(places.length)];
    const foreignSlots = places.filter((slot) => slot === first || this.#random.chance(0.1));
    const own = new Map(slots.map((slot) => [slot, this.#ownValue(slot)]));
    const version = (values: ReadonlyMap<Slot, string>) => {
      const filled = structuredClone(request);
      const serial = this.#serial++;
      for (const slot of slots) {
        const value = values.get(slot) ?? own.get(slot)?.(serial) ?? slot.value;
        // The tenant's own request starts at the first page.
        put(filled, slot, slot.kind === 'cursor' && values.size === 0 ? undefined : value);
      }
      return wire(base, filled);
    };
    return () => {
      const sent = new Map(foreignSlots.map((slot) => [slot, this.#oneOf(this.#candidates(slot)) ?? '']));
      const unknown = new Map([...sent].map(([slot, value]) => [slot, this.#unknown(slot, value)]));
      return {
        own: version(new Map()),
        foreign: version(sent),
        unknown: version(unknown),
        sent: [...sent.values()],
        unknownSent: [...unknown.values()],
      };
    };
  }

  *#slots(request: Readonly<Record<'path' | 'query' | 'body' | 'header', unknown>>): Generator<Slot> {
    for (const where of ['path', 'query', 'body', 'header'] as const)
      for (const { keys, value } of leaves(request[where])) {
        const names = keys.filter((key): key is string => typeof key === 'string' && !key.startsWith('_'));
        const name = names.at(-1) ?? '';
        const operator = keys.findLast((key) => typeof key === 'string' && key.startsWith('_'));
        if (idPattern.test(value)) {
          const table = this.#own.tableOf.get(value) ?? this.#others.tableOf.get(value);
          yield { where, keys, value, kind: 'id', pool: table ?? snake(name.replace(/Ids?$/, '')) };
        } else if (name === 'cursor') yield { where, keys, value, kind: 'cursor', pool: 'cursor' };
        else if (name === 'If-Match' || name === 'status') continue;
        // The position relative to a text depends on the text.
        else if (typeof operator === 'string' && /^_(n?i?like|[gl]te?)$/.test(operator)) continue;
        else yield { where, keys, value, kind: 'text', pool: columnOf(name) };
      }
  }

  #candidates({ kind, pool }: Slot): readonly string[] {
    if (kind === 'cursor') return this.#cursors;
    if (kind === 'id') {
      const ids = this.#others.ids.get(pool) ?? this.#others.ids.get('client') ?? [];
      return ids.slice(0, sentPerPool);
    }
    const texts = this.#others.texts.get(pool) ?? [];
    const marked = texts.filter((text) => text.toLowerCase().includes(mark.toLowerCase()));
    return marked.slice(0, sentPerPool);
  }

  /**
   * Creates values of the tenant's own for a place: sometimes another existing one, and a new one if a new row may
   * require it.
   */
  #ownValue({ kind, pool, value, where, keys }: Slot): ((serial: number) => string) | undefined {
    if (kind === 'cursor') return undefined;
    if (kind === 'id') {
      const ids = this.#own.ids.get(pool) ?? [];
      const other = this.#random.chance(0.2) ? this.#oneOf(ids) : undefined;
      return other === undefined ? undefined : () => other;
    }
    if (where === 'header') return fresh;
    if (where !== 'body' || keys.includes('where') || !freshColumns.includes(pool) || this.#random.chance(0.4))
      return undefined;
    if (value.includes('@')) return (serial) => `${fresh(serial)}@example.com`;
    return (serial) => `${value.slice(0, 11)}${value.includes(' ') ? ' ' : ''}${fresh(serial)}`;
  }

  #unknown({ kind }: Slot, foreign: string): string {
    if (kind === 'cursor') return `${foreign.slice(1, 2)}${foreign.slice(1)}`;
    if (kind === 'text')
      return foreign.replaceAll(mark, unknownMark).replaceAll(mark.toLowerCase(), unknownMark.toLowerCase());
    const known = this.#unknownIds.get(foreign) ?? uuidv7();
    this.#unknownIds.set(foreign, known);
    return known;
  }

  #oneOf<Value>(values: readonly Value[]): Value | undefined {
    return values[this.#random.below(values.length)];
  }
}

/** Creates a text that was not sent before; responses that differ only in it count as equal. */
function fresh(serial: number): string {
  return `x${String(serial).padStart(6, '0')}x`;
}

/** The texts of columns with unique values. */
const freshColumns = [
  'name',
  'display_name',
  'code',
  'email',
  'system_ref',
  'client_ref',
  'pms_ref',
  'job_ref',
  'staff_ref',
  'engagement_ref',
  'invoice_number',
  'processor_ref',
];

/** The column that a property, parameter or header is compared with. */
function columnOf(name: string): string {
  return { 'Idempotency-Key': 'key', ref: 'system_ref', clientName: 'name', tenant: 'name' }[name] ?? snake(name);
}

/**
 * Converts the response to a request with unknown values for comparison: unknown values become the foreign ones, and
 * fresh texts become equal.
 */
export function asForeign(text: string, foreignOf: ReadonlyMap<string, string>): string {
  return text
    .replaceAll(unknownMark, mark)
    .replaceAll(unknownMark.toLowerCase(), mark.toLowerCase())
    .replaceAll(/x\d{6}x/g, fresh(0))
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => foreignOf.get(id) ?? id);
}

interface Leaf {
  readonly keys: readonly (string | number)[];
  readonly value: string;
}

function* leaves(value: unknown, keys: readonly (string | number)[] = []): Generator<Leaf> {
  if (typeof value === 'string') yield { keys, value };
  else if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* leaves(item, [...keys, index]);
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) yield* leaves(inner, [...keys, key]);
}

function put(request: Record<Slot['where'], unknown>, { where, keys }: Slot, value: string | undefined): void {
  let part = request[where] as Record<string | number, unknown>;
  for (const key of keys.slice(0, -1)) part = part[key] as Record<string | number, unknown>;
  if (value === undefined) delete part[keys.at(-1) ?? ''];
  else part[keys.at(-1) ?? ''] = value;
}

function wire(base: BaseRequest, filled: Record<'path' | 'query' | 'body' | 'header', unknown>): WireRequest {
  const { path, query, header } = filled as Record<string, Readonly<Record<string, string>>>;
  const place = base.operation.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
    encodeURIComponent(path?.[name] ?? ''),
  );
  const search = new URLSearchParams(query).toString();
  return {
    method: base.operation.method,
    path: search === '' ? place : `${place}?${search}`,
    body: filled.body,
    headers: header ?? {},
  };
}
