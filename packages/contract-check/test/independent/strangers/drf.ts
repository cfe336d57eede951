/** Orders of a print shop, in the shapes of Django REST Framework: limit and offset, actions, groups of users. */
import { rejection } from '../../servers/kit/rejection.ts';
import type { Call, Result } from '../../servers/kit/serve.ts';
import {
  bearerAuth,
  bearerCaller,
  type Caller,
  clock,
  found,
  type Input,
  inputOf,
  json,
  readCounter,
  stranger,
} from './stranger.ts';

interface Proof {
  readonly id: number;
  readonly order: number;
  readonly comment: unknown;
  readonly accepted: unknown;
}

interface Order {
  readonly id: number;
  readonly created: string;
  status: string;
  customer: unknown;
  paper: unknown;
  quantity: number;
  note: unknown;
  discount: unknown;
  due: unknown;
}

export const drf = stranger(
  'drf',
  {
    paging: {
      'offset-off': 'orders_list: an offset skips one row more',
      'count-of-page': 'orders_list: count is that of the page',
      'next-missing': 'orders_list: next is always null',
      'next-without-filter': 'orders_list: next loses the filter of the page',
    },
    lists: {
      'second-order-ignored': 'orders_list: only the first of several orders counts',
      'search-deleted': 'orders_list: search finds deleted orders',
      'cancelled-hidden': 'orders_list: a cancelled order is not listed without a filter',
      'status-stale': 'orders_list: the filter status finds orders by the status before the last action',
    },
    states: {
      'printed-cancelled': 'orders_cancel_create: a printed order can be cancelled',
      'submitted-refused': 'orders_print_create: a submitted order cannot be printed',
      'submit-lost': 'orders_submit_create: submitted is returned, and not stored',
      'submitted-patched': 'orders_partial_update: a submitted order can be changed',
      'printed-destroyed': 'orders_destroy: a printed order can be deleted',
    },
    roles: {
      'cancel-by-clerks': 'orders_cancel_create: clerks can cancel',
      'discount-by-clerks': 'orders_create: clerks can grant a discount',
      'viewers-refused': 'orders_proofs_list: viewers cannot list proofs',
    },
    writes: {
      'paper-reset': 'orders_partial_update: PATCH resets paper to its default',
      'note-kept': 'orders_update: PUT keeps a note that is not sent',
      'due-lost': 'orders_update: due is returned, and not stored',
      'proofs-count-stale': 'orders_proofs_destroy: proofs_count does not fall',
      'proof-of-other': 'orders_proofs_retrieve: a proof is found below any order',
      'gone-again': 'orders_destroy: an order that is deleted can be deleted again',
      'later-quantity': 'orders_retrieve: from the third read on, quantity is rounded to tens',
    },
    'written later': {
      'submitted-again': 'orders_submit_create: a submitted order can be submitted',
      'accepted-by-default': 'orders_proofs_create: a proof is accepted by default',
      'destroys-next': 'orders_destroy: the order after it is deleted, too',
      'due-null-kept': 'orders_partial_update: a due of null is ignored',
      'clerks-refused': 'orders_create: clerks cannot create',
    },
  },
  bearerAuth(['viewers', 'clerks', 'managers'], 1, 'Token'),
  (contract, is) => {
    const now = clock();
    const orders: Order[] = [];
    const deleted: Order[] = [];
    const proofs: Proof[] = [];
    const deletedProofs: Proof[] = [];
    const before = new Map<Order, string>();
    const readsOf = readCounter();
    let count = 0;
    const fields = ({ customer, paper = 'matte', quantity, note = '', discount = 0, due = null }: Input) => ({
      customer,
      paper,
      quantity: Number(quantity),
      note,
      discount,
      due,
    });
    const add = (input: Input, status = 'draft'): Order => {
      const order = { id: ++count, status, ...fields(input), created: now() };
      orders.push(order);
      return order;
    };
    for (const [index, customer] of ['Harper', 'Lind', 'Osei', 'Reyes', 'Sato', 'Weber', 'Young'].entries()) {
      const status = ['draft', 'submitted', 'printed', 'cancelled'][index % 4];
      const paper = ['matte', 'glossy', 'recycled'][index % 3];
      add({ customer, paper, quantity: 100 + 50 * (index % 3), note: index % 2 === 0 ? '' : `Run ${index}` }, status);
    }
    for (const id of [1, 1, 2]) proofs.push({ id: ++count, order: id, comment: `Proof of ${id}`, accepted: false });

    const countOf = ({ id }: Order) =>
      [...proofs, ...(is('proofs-count-stale') ? deletedProofs : [])].filter(({ order }) => order === id).length;
    const view = (order: Order) => ({ ...order, proofs_count: countOf(order) });
    const orderOf = ({ values }: Call<Caller>) =>
      found(orders.find(({ id }) => id === (values.path.id ?? values.path.order_pk)));
    const parentOf = ({ values }: Call<Caller>) => found(orders.find(({ id }) => id === values.path.order_pk));
    const proofOf = (call: Call<Caller>) => {
      const { id } = parentOf(call);
      const isOpen = is('proof-of-other') && call.operation.id === 'orders_proofs_retrieve';
      return found(proofs.find((one) => one.id === call.values.path.id && (one.order === id || isOpen)));
    };

    function page<Row>(call: Call<Caller>, rows: readonly Row[], view: (row: Row) => unknown): Result {
      const { limit: wanted = 10, offset: first = 0 } = call.values.query as Record<string, number>;
      const limit = wanted <= 0 ? 10 : Math.min(wanted, 100);
      const offset = Math.max(0, first);
      const isOrders = call.operation.id === 'orders_list';
      const start = offset + Number(is('offset-off') && isOrders && offset > 0);
      const results = rows.slice(start, start + limit).map(view);
      const linkTo = (to: number) => {
        const url = new URL(call.request.url, call.base);
        if (is('next-without-filter')) url.searchParams.delete('status');
        url.searchParams.set('limit', String(limit));
        if (to <= 0) url.searchParams.delete('offset');
        else url.searchParams.set('offset', String(to));
        return url.href;
      };
      return json(200, {
        count: is('count-of-page') && isOrders ? results.length : rows.length,
        next: offset + limit < rows.length && !(is('next-missing') && isOrders) ? linkTo(offset + limit) : null,
        previous: offset > 0 ? linkTo(offset - limit) : null,
        results,
      });
    }

    function list(call: Call<Caller>): Result {
      const { ordering = ['-created'], search = '', status } = call.values.query as { ordering?: string[] } & Input;
      const words = String(search)
        .toLowerCase()
        .split(/[\s,]+/);
      const isMatched = ({ customer, note }: Order) =>
        words.every((word) => [customer, note].some((text) => String(text).toLowerCase().includes(word)));
      const statusOf = (order: Order) => (is('status-stale') ? (before.get(order) ?? order.status) : order.status);
      const isHidden = (order: Order) => is('cancelled-hidden') && status === undefined && order.status === 'cancelled';
      const all = [...orders, ...(is('search-deleted') && search !== '' ? deleted : [])];
      const rows = all
        .filter((one) => isMatched(one) && (status === undefined || statusOf(one) === status) && !isHidden(one))
        .sort((one, other) => {
          for (const by of is('second-order-ignored') ? ordering.slice(0, 1) : ordering) {
            const name = by.replace('-', '') as 'created' | 'quantity';
            if (one[name] !== other[name]) return one[name] < other[name] === by.startsWith('-') ? 1 : -1;
          }
          return one.id - other.id;
        });
      return page(call, rows, view);
    }

    /** @throws Rejection with 403 */
    function checkDiscount(call: Call<Caller>): void {
      const isFree = is('discount-by-clerks') && call.operation.id === 'orders_create';
      if (inputOf(call).discount !== undefined && !call.caller.scopes.includes('managers') && !isFree)
        throw rejection(403, 'You do not have permission to grant a discount.');
    }

    /** @throws Rejection with 409 */
    function checkState({ status }: Order, from: readonly string[]): void {
      if (!from.includes(status)) throw rejection(409, `The order is ${status}.`);
    }

    const action =
      (to: string, from: readonly string[]) =>
      (call: Call<Caller>): Result => {
        const order = orderOf(call);
        checkState(order, from);
        before.set(order, order.status);
        const result = { ...view(order), status: to };
        if (!(is('submit-lost') && to === 'submitted')) order.status = to;
        return json(200, result);
      };

    const needed: Readonly<Record<string, string>> = {
      ...(is('cancel-by-clerks') && { orders_cancel_create: 'clerks' }),
      ...(is('clerks-refused') && { orders_create: 'managers' }),
      ...(is('viewers-refused') && { orders_proofs_list: 'clerks' }),
    };

    return {
      contract,
      lenient: true,
      authenticate: (operation, request) => {
        const other = needed[operation.id];
        return bearerCaller(operation, request, other === undefined ? undefined : (scopes) => scopes.includes(other));
      },
      reject: ({ status, message }) => json(status, { detail: message }),
      handlers: {
        orders_list: list,
        orders_create: (call) => {
          checkDiscount(call);
          return json(201, view(add(inputOf(call))));
        },
        orders_retrieve: (call) => {
          const order = orderOf(call);
          const isRounded = readsOf(order) >= 3 && is('later-quantity');
          return json(200, { ...view(order), ...(isRounded && { quantity: Math.ceil(order.quantity / 10) * 10 }) });
        },
        orders_update: (call) => {
          const order = orderOf(call);
          checkDiscount(call);
          checkState(order, ['draft']);
          const { note, due } = order;
          Object.assign(order, fields(inputOf(call)));
          if (is('note-kept') && inputOf(call).note === undefined) order.note = note;
          const result = view(order);
          if (is('due-lost')) order.due = due;
          return json(200, result);
        },
        orders_partial_update: (call) => {
          const order = orderOf(call);
          checkDiscount(call);
          checkState(order, is('submitted-patched') ? ['draft', 'submitted'] : ['draft']);
          const kept = is('paper-reset') ? { ...order, paper: undefined } : { ...order };
          const input = inputOf(call);
          const sent = is('due-null-kept') && input.due === null ? { ...input, due: order.due } : input;
          Object.assign(order, fields({ ...kept, ...sent }));
          return json(200, view(order));
        },
        orders_destroy: (call) => {
          const isAgain = is('gone-again') && deleted.some(({ id }) => id === call.values.path.id);
          if (isAgain) return { status: 204 };
          const order = orderOf(call);
          if (!is('printed-destroyed')) checkState(order, ['draft', 'submitted', 'cancelled']);
          orders.splice(orders.indexOf(order), is('destroys-next') ? 2 : 1);
          deleted.push(order);
          return { status: 204 };
        },
        orders_submit_create: action('submitted', is('submitted-again') ? ['draft', 'submitted'] : ['draft']),
        orders_print_create: action('printed', is('submitted-refused') ? [] : ['submitted']),
        orders_cancel_create: action(
          'cancelled',
          is('printed-cancelled') ? ['draft', 'submitted', 'printed'] : ['draft', 'submitted'],
        ),
        orders_proofs_list: (call) => {
          const { id } = parentOf(call);
          return page(
            call,
            proofs.filter(({ order }) => order === id),
            (proof) => proof,
          );
        },
        orders_proofs_create: (call) => {
          const { comment, accepted = is('accepted-by-default') } = inputOf(call);
          const proof = { id: ++count, order: parentOf(call).id, comment, accepted };
          proofs.push(proof);
          return json(201, proof);
        },
        orders_proofs_retrieve: (call) => json(200, proofOf(call)),
        orders_proofs_destroy: (call) => {
          const proof = proofOf(call);
          proofs.splice(proofs.indexOf(proof), 1);
          deletedProofs.push(proof);
          return { status: 204 };
        },
      },
    };
  },
);
