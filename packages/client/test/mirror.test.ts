import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type MirrorBatch, type MirrorType, mirror } from '../src/index.ts';
import { problem, type Received, type Reply, Service } from './service.ts';

interface Row {
  id: string;
  version: number;
  active: boolean;
  source?: string;
  quickPaymentLinkId?: string | null;
}
interface Event {
  entityType: string;
  operation: 'CREATE' | 'UPDATE' | 'DELETE';
  entityId: string;
  data: Row;
}

/** A firm in memory: lists with two rows a page, and a feed with two events a page. */
class Firm {
  readonly rows: Record<string, Map<string, Row>> = { Client: new Map(), Invoice: new Map(), Staff: new Map() };
  readonly events: Event[] = [];
  /** The events before are no longer kept. */
  kept = 0;
  failAt: string | undefined;
  /** The type without events. */
  disabled: string | undefined;
  wipEvents = true;
  /** The type that the roles of the caller do not include. */
  hidden: string | undefined;

  write(entityType: string, id: string, active = true): void {
    const version = (this.rows[entityType]?.get(id)?.version ?? 0) + 1;
    this.#set(entityType, { id, version, active }, version === 1 ? 'CREATE' : 'UPDATE');
  }

  remove(entityType: string, id: string): void {
    this.#set(entityType, { id, version: 99, active: false }, 'DELETE');
  }

  #set(entityType: string, row: Row, operation: Event['operation']): void {
    this.rows[entityType]?.set(row.id, row);
    // Events of staff are without rates, which the test says by a version that no row has.
    const data = { ...row, version: entityType === 'Staff' ? -1 : row.version };
    this.events.push({ entityType, operation, entityId: row.id, data });
  }

  respond({ path, query, body }: Received): Reply {
    if (this.failAt === path) return problem(400, 'VALIDATION_ERROR');
    const { wipEvents } = this;
    if (path === '/api/v1/me')
      return { body: { id: 'me', roles: types.filter((one) => one !== this.hidden), tenant: { wipEvents } } };
    if (path === '/gql/v1/quick_payment_links/search') {
      expect(body).toMatchObject({ where: { createdByApiUserId: { _eq: 'me' } } });
      return { body: { data: [{ id: 'own link' }], hasMore: false, nextCursor: null } };
    }
    if (path === '/api/v1/events') {
      if (query.entityType !== undefined && query.entityType === this.disabled) {
        const reply = Object(problem(400, 'VALIDATION_ERROR'));
        const error = { in: 'query', pointer: '/entityType', code: 'EVENT_NOT_ENABLED', detail: 'No events.' };
        return { ...reply, body: { ...reply.body, errors: [error] } };
      }
      const after = query.after === 'latest' ? this.events.length : Number(query.after ?? 0);
      if (after < this.kept) return problem(410, 'EVENTS_EXPIRED');
      const page = this.events.slice(after, after + 2);
      const data = page.filter(
        ({ entityType }) => entityType !== this.hidden && [undefined, entityType].includes(query.entityType),
      );
      const end = after + page.length;
      return { body: { data, hasMore: end < this.events.length, nextCursor: String(end) } };
    }
    const paths: Record<string, string> = {
      '/gql/v1/clients/search': 'Client',
      '/gql/v1/invoices/search': 'Invoice',
      '/gql/v1/payments/search': 'Payment',
      '/gql/v1/wips/search': 'WipEntry',
    };
    const type = paths[path] ?? 'Staff';
    if (type === this.hidden) return problem(403, 'FORBIDDEN');
    const { cursor = '0', where } = body as { cursor?: string; where?: { id: { _in: string[] } } };
    const all = [...(this.rows[type]?.values() ?? [])].filter(
      ({ id }) => where === undefined || where.id._in.includes(id),
    );
    const end = Number(cursor) + 2;
    const hasMore = end < all.length;
    return { body: { data: all.slice(Number(cursor), end), hasMore, nextCursor: hasMore ? String(end) : null } };
  }
}

/** A store in memory that can fail, and applies a batch or nothing. */
function memory() {
  let rows = new Map<string, Row>();
  let position: string | undefined;
  const store = {
    failAfter: Number.POSITIVE_INFINITY,
    resets: 0,
    position: () => position,
    apply: (batch: MirrorBatch<MirrorType>) => {
      if (store.failAfter-- <= 0) throw new Error('The store failed.');
      if (batch.reset) {
        rows = new Map();
        store.resets++;
      }
      for (const { type, id, version, data } of batch.rows)
        if (version >= (rows.get(`${type} ${id}`)?.version ?? 0)) rows.set(`${type} ${id}`, data);
      for (const { type, id } of batch.deleted) rows.delete(`${type} ${id}`);
      position = batch.position;
    },
    state: () => Object.fromEntries([...rows].sort(([a], [b]) => a.localeCompare(b))),
  };
  return store;
}

let service: Service;
let firm: Firm;
const types = ['Client', 'Invoice', 'Staff'] as const;
const expected = () =>
  Object.fromEntries(
    types
      .flatMap((type) => [...(firm.rows[type]?.values() ?? [])].map((row) => [`${type} ${row.id}`, row] as const))
      .filter(([, row]) => row.active)
      .sort(),
  );

beforeEach(async () => {
  service = await new Service().start();
  firm = new Firm();
  service.respond = (request) => firm.respond(request);
  for (const id of ['a', 'b', 'c', 'd', 'e']) for (const type of types) firm.write(type, id);
});
afterEach(() => service.stop());

describe('mirror', () => {
  it('reads everything once, then only what changed, with deletions and rows that events do not have whole', async () => {
    const store = memory();
    const api = service.client();
    expect(await mirror(api, { types, store })).toEqual({ readAll: true, rows: 15, deleted: 0 });
    expect(store.state()).toEqual(expected());
    firm.write('Client', 'a');
    firm.write('Client', 'a');
    firm.write('Staff', 'b');
    firm.remove('Invoice', 'c');
    firm.write('Invoice', 'new');
    expect(await mirror(api, { types, store })).toEqual({ readAll: false, rows: 3, deleted: 1 });
    expect(store.state()).toEqual(expected());
    expect(await mirror(api, { types, store })).toEqual({ readAll: false, rows: 0, deleted: 0 });
  });

  it('has no row that was deleted, also after it changed once more, and of a full read', async () => {
    const store = memory();
    await mirror(service.client(), { types, store });
    const deleted = [
      ['Client', 'b'],
      ['Invoice', 'c'],
      ['Staff', 'd'],
    ] as const;
    for (const [type, id] of deleted) firm.remove(type, id);
    await mirror(service.client(), { types, store });
    for (const [type, id] of deleted) firm.write(type, id, false);
    for (const copy of [store, memory()]) {
      await mirror(service.client(), { types, store: copy });
      expect(copy.state()).toEqual(expected());
    }
    firm.write('Client', 'b');
    await mirror(service.client(), { types, store });
    expect(store.state()).toEqual(expected());
  });

  it.each([['before a run'], ['during a run']])('misses nothing if a role is taken %s and given back', async (when) => {
    const store = memory();
    const api = service.client();
    await mirror(api, { types, store });
    const before = store.state();
    firm.write('Invoice', 'a');
    if (when === 'before a run') firm.hidden = 'Invoice';
    service.respond = (request) => {
      if (request.path === '/api/v1/events') firm.hidden = 'Invoice';
      return firm.respond(request);
    };
    await expect(mirror(api, { types, store })).rejects.toThrow('FORBIDDEN');
    expect(store.state()).toEqual(before);
    firm.hidden = undefined;
    service.respond = (request) => firm.respond(request);
    await mirror(api, { types, store });
    expect(store.state()).toEqual(expected());
  });

  it('includes what changes during the full read', async () => {
    const store = memory();
    service.respond = (request) => {
      if (request.path === '/gql/v1/invoices/search' && firm.events.length === 15) {
        firm.write('Client', 'a');
        firm.remove('Client', 'b');
      }
      return firm.respond(request);
    };
    await mirror(service.client(), { types, store });
    expect(store.state()).toEqual(expected());
  });

  it('continues where the store failed, at any batch, without reading everything again', async () => {
    for (let failAfter = 0; failAfter < 14; failAfter++) {
      const store = memory();
      store.failAfter = failAfter;
      await mirror(service.client(), { types, store }).catch(() => undefined);
      store.failAfter = Number.POSITIVE_INFINITY;
      firm.write('Invoice', `during ${failAfter}`);
      await mirror(service.client(), { types, store });
      expect(store.state(), `batch ${failAfter}`).toEqual(expected());
      expect(store.resets).toBe(1);
    }
  });

  it('reads everything again where events are no longer kept, or other types are mirrored', async () => {
    const store = memory();
    const api = service.client();
    await mirror(api, { types: ['Client'], store });
    firm.remove('Client', 'a');
    firm.write('Client', 'z');
    firm.kept = firm.events.length;
    expect(await mirror(api, { types: ['Client'], store })).toEqual({ readAll: true, rows: 5, deleted: 0 });
    expect(Object.keys(store.state())).toEqual(['Client b', 'Client c', 'Client d', 'Client e', 'Client z']);
    expect(await mirror(api, { types, store })).toMatchObject({ readAll: true });
    expect(store.state()).toEqual(expected());
  });

  it('reads only payments that the filter has events of, and everything again with another filter', async () => {
    const byCard = { version: 1, active: true, source: 'QUICK_PAYMENT_LINK' };
    const payments = [
      { ...byCard, id: 'own', quickPaymentLinkId: 'own link' },
      { ...byCard, id: 'other', quickPaymentLinkId: 'other link' },
      { ...byCard, id: 'check', source: 'MANUAL', quickPaymentLinkId: null },
    ];
    firm.rows.Payment = new Map(payments.map((row) => [row.id, row]));
    const store = memory();
    const read = async (filterExpression: 'ownPaymentLinksOnly' | 'paymentLinkOnly' | 'allPayments') => {
      const run = await mirror(service.client(), { types: ['Payment'], store, filterExpression });
      return [run.readAll, ...Object.keys(store.state())];
    };
    expect(await read('ownPaymentLinksOnly')).toEqual([true, 'Payment own']);
    expect(await read('ownPaymentLinksOnly')).toEqual([false, 'Payment own']);
    expect(await read('paymentLinkOnly')).toEqual([true, 'Payment other', 'Payment own']);
    expect(await read('allPayments')).toEqual([true, 'Payment check', 'Payment other', 'Payment own']);
  });

  it('keeps the copy and rejects while work in progress has no events, and then reads everything again', async () => {
    firm.rows.WipEntry = new Map([['a', { id: 'a', version: 1, active: true }]]);
    const store = memory();
    const run = () => mirror(service.client(), { types: ['Client', 'WipEntry'], store });
    await run();
    const before = store.state();
    [firm.wipEvents, firm.disabled] = [false, 'WipEntry'];
    await expect(run()).rejects.toThrow('VALIDATION_ERROR');
    expect(store.state()).toEqual(before);
    [firm.wipEvents, firm.disabled] = [true, undefined];
    expect(await run()).toMatchObject({ readAll: true });
    expect(await run()).toMatchObject({ readAll: false });
  });

  it('throws the problem of a request, and of a type whose events the caller cannot read', async () => {
    firm.failAt = '/gql/v1/invoices/search';
    await expect(mirror(service.client(), { types, store: memory() })).rejects.toThrow('VALIDATION_ERROR');
    firm.failAt = '/api/v1/events';
    const store = memory();
    await expect(mirror(service.client(), { types, store })).rejects.toThrow('VALIDATION_ERROR');
    expect(store.position()).toBeUndefined();
  });

  it.each(types)('reads nothing if events of %s are not enabled, whichever of the types it is', async (type) => {
    firm.disabled = type;
    const store = memory();
    await expect(mirror(service.client(), { types, store })).rejects.toThrow('VALIDATION_ERROR');
    expect(store.position()).toBeUndefined();
  });
});
