/** Orders, in the shapes of FastAPI: schemas of Pydantic, 422 with locations, and a `next` URL. */
import { rejection } from '../../servers/kit/rejection.ts';
import type { Call, Result } from '../../servers/kit/serve.ts';
import {
  bearerAuth,
  bearerCaller,
  type Caller,
  clock,
  found,
  inputOf,
  json,
  readCounter,
  stranger,
} from './stranger.ts';

interface Order {
  readonly id: number;
  readonly tenant: string;
  readonly reference: unknown;
  readonly note: unknown;
  status: string;
  address: unknown;
  cancelled_at: string | null;
  readonly [name: string]: unknown;
}

const deleteId = 'delete_order_orders__order_id__delete';

export const fastapi = stranger(
  'fastapi',
  {
    roles: { 'delete-with-write': `${deleteId}: orders:write suffices to delete an order` },
    states: {
      'pay-not-stored': 'pay_order_orders__order_id__pay_post: payment is returned, and not stored',
      'cancel-twice': 'cancel_order_orders__order_id__cancel_post: a cancelled order is cancelled again',
      'cancelled-at-missing': 'cancel_order_orders__order_id__cancel_post: a cancelled order has no cancelled_at',
      'cancelled-not-found': 'list_orders_orders__get: the filter finds no cancelled orders',
    },
    lists: {
      'next-skips': 'list_orders_orders__get: the next page skips an order',
      'limit-one-more': 'list_orders_orders__get: a page has one order more than limit',
      'next-missing': 'list_orders_orders__get: a page before the last has no next',
    },
    bulk: {
      'batch-note-lost': 'create_orders_orders_bulk_post: notes of a batch are not stored',
      'batch-short': 'create_orders_orders_bulk_post: the last result is missing',
    },
    writes: {
      'address-lost': 'set_address_orders__order_id__address_put: an address is returned, and not stored',
      'null-ignored': 'update_order_orders__order_id__patch: null does not clear the note',
      'line-lost': 'create_order_orders__post: all lines are returned, and only the first is stored',
    },
    isolation: { 'other-pays': 'pay_order_orders__order_id__pay_post: other tenants can pay orders' },
    'later reads': { 'third-read-note': 'read_order_orders__order_id__get: later reads have no note' },
  },
  bearerAuth(['orders:read', 'orders:write', 'orders:admin'], 2),
  (contract, is) => {
    const now = clock();
    const readsOf = readCounter();
    const orders: Order[] = [];
    let count = 0;
    const add = (
      tenant: string,
      { reference, email, note = null, lines }: Readonly<Record<string, unknown>>,
    ): Order => {
      const state = { status: 'pending', address: null, cancelled_at: null, created_at: now() };
      const order = { id: ++count, tenant, reference, email, note, lines, ...state };
      orders.push(order);
      return order;
    };
    for (const index of Array(8).keys()) {
      const lines = [{ sku: `SKU-${index}`, quantity: index + 1 }];
      const note = index % 3 === 0 ? null : `Deliver at door ${index}`;
      const order = add(index < 7 ? 'acme' : 'globex', {
        reference: `ORD-${100 + index}`,
        email: `buyer${index}@shop.example`,
        note,
        lines,
      });
      if (index % 3 === 1) order.status = 'paid';
    }
    const view = ({ tenant: _tenant, ...order }: Order) => order;
    const own = ({ caller }: Call<Caller>) => orders.filter(({ tenant }) => tenant === caller.tenant);
    const orderOf = (call: Call<Caller>, isOpen = false) =>
      found((isOpen ? orders : own(call)).find(({ id }) => id === call.values.path.order_id));
    const isTaken = (call: Call<Caller>, reference: unknown) => own(call).some((one) => one.reference === reference);

    function list(call: Call<Caller>): Result {
      const { skip = 0, limit = 20, status } = call.values.query as { skip?: number; limit?: number; status?: string };
      const isHidden = is('cancelled-not-found') && status === 'cancelled';
      const all = own(call).filter((one) => status === undefined || (one.status === status && !isHidden));
      const end = skip + limit;
      const query = new URLSearchParams({ skip: String(end + Number(is('next-skips'))), limit: String(limit) });
      if (status !== undefined) query.set('status', status);
      const isLast = end + (is('next-missing') ? limit : 0) >= all.length;
      const next = isLast ? null : `${call.base}/orders/?${query}`;
      return json(200, {
        items: all.slice(skip, end + Number(is('limit-one-more'))).map(view),
        total: all.length,
        next,
      });
    }

    return {
      contract,
      invalid: 422,
      lenient: true,
      authenticate: (operation, request) =>
        bearerCaller(operation, request, (scopes) => {
          const needed = operation.security.flatMap((one) => Object.values(one).flat());
          const isWriter = is('delete-with-write') && operation.id === deleteId && scopes.includes('orders:write');
          return isWriter || needed.every((scope) => scopes.includes(scope));
        }),
      reject: ({ status, message, pointer = '' }) => {
        if (status !== 400 && status !== 422) return json(status, { detail: message });
        const loc = ['body', ...pointer.split('/').slice(1)];
        return json(422, { detail: [{ loc, msg: message, type: 'value_error' }] });
      },
      handlers: {
        list_orders_orders__get: list,
        create_order_orders__post: (call) => {
          const input = inputOf(call);
          if (isTaken(call, input.reference)) throw rejection(409, 'The reference is taken');
          const order = add(call.caller.tenant, input);
          if (is('line-lost'))
            orders[orders.indexOf(order)] = { ...order, lines: (order.lines as unknown[]).slice(0, 1) };
          return json(201, view(order));
        },
        create_orders_orders_bulk_post: (call) => {
          const { orders: inputs } = inputOf(call) as { orders: Readonly<Record<string, unknown>>[] };
          const results = inputs.map((input) => {
            if (isTaken(call, input.reference))
              return { status: 'failed', item: null, error: 'The reference is taken' };
            const { note } = input;
            const order = add(call.caller.tenant, is('batch-note-lost') ? { ...input, note: null } : input);
            return { status: 'created', item: { ...view(order), note: note ?? null }, error: null };
          });
          return json(200, { results: is('batch-short') && results.length > 1 ? results.slice(0, -1) : results });
        },
        read_order_orders__order_id__get: (call) => {
          const order = orderOf(call);
          const isLater = readsOf(order) > 2 && is('third-read-note');
          return json(200, { ...view(order), ...(isLater && { note: null }) });
        },
        update_order_orders__order_id__patch: (call) => {
          const { email, note } = inputOf(call);
          const order = orderOf(call);
          if (order.status === 'cancelled') throw rejection(409, 'The order is cancelled');
          Object.assign(order, {
            ...(email !== undefined && { email }),
            ...(note !== undefined && !(note === null && is('null-ignored')) && { note }),
          });
          return json(200, view(order));
        },
        [deleteId]: (call) => {
          orders.splice(orders.indexOf(orderOf(call)), 1);
          return { status: 204 };
        },
        set_address_orders__order_id__address_put: (call) => {
          const { street, city, zip = null } = inputOf(call);
          const order = orderOf(call);
          if (order.status === 'cancelled') throw rejection(409, 'The order is cancelled');
          if (!is('address-lost')) order.address = { street, city, zip };
          return json(200, { street, city, zip });
        },
        pay_order_orders__order_id__pay_post: (call) => {
          const order = orderOf(call, is('other-pays'));
          if (order.status !== 'pending') throw rejection(409, 'Only a pending order can be paid');
          if (!is('pay-not-stored')) order.status = 'paid';
          return json(200, { ...view(order), status: 'paid' });
        },
        cancel_order_orders__order_id__cancel_post: (call) => {
          const order = orderOf(call);
          if (order.status === 'cancelled' && !is('cancel-twice')) throw rejection(409, 'The order is cancelled');
          Object.assign(order, { status: 'cancelled', cancelled_at: is('cancelled-at-missing') ? null : now() });
          return json(200, view(order));
        },
      },
    };
  },
);
