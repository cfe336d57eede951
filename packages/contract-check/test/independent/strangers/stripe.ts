/** Customers and invoices, in the shapes of Stripe: forms, updates by POST, `starting_after`, and one default error. */
import { randomBytes } from 'node:crypto';
import { rejection } from '../../servers/kit/rejection.ts';
import type { Call, Handler, Result } from '../../servers/kit/serve.ts';
import { bearerAuth, bearerCaller, type Caller, found, type Input, inputOf, json, stranger } from './stranger.ts';

interface Customer {
  readonly id: string;
  readonly tenant: string;
  readonly name: unknown;
  readonly metadata: unknown;
  readonly [name: string]: unknown;
}

interface Invoice {
  readonly id: string;
  readonly tenant: string;
  readonly customer: string;
  status: string;
  readonly [name: string]: unknown;
}

/** Each action on an invoice, with the states that it is possible in and the one that it leads to. */
const actions: readonly (readonly [name: string, from: string, to: string])[] = [
  ['Finalize', 'draft', 'open'],
  ['Pay', 'open', 'paid'],
  ['Void', 'open', 'void'],
];

export const stripe = stranger(
  'stripe',
  {
    states: {
      'finalize-not-stored': 'PostInvoicesInvoiceFinalize: an open invoice is returned, and stays a draft',
      'pay-listed-open': 'GetInvoices: the filter finds paid invoices as open',
    },
    lists: {
      'cursor-includes': 'GetCustomers: the next page begins with the customer of starting_after',
      'cursor-skips': 'GetCustomers: the next page skips a customer',
      'more-at-end': 'GetCustomers: has_more is true at the end',
    },
    writes: {
      'name-lost': 'PostCustomersCustomer: a name is returned, and not stored',
      'metadata-dropped': 'PostCustomersCustomer: an update without metadata clears it',
      'deleted-listed': 'DeleteCustomersCustomer: deleted customers are listed',
      'key-second': 'PostCustomers: a repeated Idempotency-Key creates another customer',
    },
    isolation: { 'account-reads': 'GetCustomersCustomer: other accounts can read customers' },
  },
  bearerAuth([], 2),
  (contract, is) => {
    const customers: Customer[] = [];
    const deleted: Customer[] = [];
    const invoices: Invoice[] = [];
    const keys = new Map<string, readonly [body: string, id: string]>();
    let created = 1_720_000_000;
    const idOf = (prefix: string) => `${prefix}_${randomBytes(9).toString('hex')}`;
    const addCustomer = (tenant: string, { email = null, name = null, description = null, metadata = {} }: Input) => {
      const customer = { id: idOf('cus'), object: 'customer', tenant, created: ++created, email, name };
      customers.unshift({ ...customer, description, metadata });
      return customers[0] as Customer;
    };
    const addInvoice = (tenant: string, { customer, amount, description = null }: Input, status: string) => {
      const ids = { id: idOf('in'), object: 'invoice', tenant, created: ++created, customer: String(customer) };
      invoices.unshift({ ...ids, amount, description, status });
      return invoices[0] as Invoice;
    };
    for (const index of Array(9).keys()) {
      const tenant = index < 7 ? 'acme' : 'globex';
      const texts = { email: `c${index}@mail.example`, name: `Customer ${index}`, metadata: { tier: String(index) } };
      const customer = addCustomer(tenant, texts);
      const status = ['draft', 'open', 'paid', 'void'][index % 4] ?? 'draft';
      addInvoice(tenant, { customer: customer.id, amount: 500 + index * 250 }, status);
    }
    const view = ({ tenant: _tenant, ...row }: Customer | Invoice) => row;
    const ownOf = <Owned extends Customer | Invoice>(all: readonly Owned[], call: Call<Caller>, isOpen = false) =>
      all.filter(({ tenant }) => tenant === call.caller.tenant || isOpen);
    const customerOf = (call: Call<Caller>, isOpen = false) =>
      found(ownOf(customers, call, isOpen).find(({ id }) => id === call.values.path.customer));
    const invoiceOf = (call: Call<Caller>) =>
      found(ownOf(invoices, call).find(({ id }) => id === call.values.path.invoice));

    function page(
      url: string,
      rows: readonly (Customer | Invoice)[],
      { values }: Call<Caller>,
      isOff: boolean,
    ): Result {
      const { limit = 10, starting_after: after, ending_before: before } = values.query as Record<string, string>;
      const size = Number(limit);
      const at = (id: string) => {
        const index = rows.findIndex((one) => one.id === id);
        if (index < 0) throw rejection(400, `No such object: ${id}`);
        return index;
      };
      const shift = isOff ? Number(is('cursor-skips')) - Number(is('cursor-includes')) : 0;
      const end = before === undefined ? rows.length : at(before);
      const from = after === undefined ? (before === undefined ? 0 : Math.max(0, end - size)) : at(after) + 1 + shift;
      const data = rows.slice(from, Math.min(end, from + size)).map(view);
      const hasMore = before === undefined ? from + size < rows.length : from > 0;
      return json(200, { data, has_more: hasMore || (isOff && is('more-at-end')), object: 'list', url });
    }

    const act =
      (name: string, from: string, to: string): Handler<Caller> =>
      (call) => {
        const invoice = invoiceOf(call);
        if (invoice.status !== from) throw rejection(400, `The invoice is ${invoice.status}`);
        if (name !== 'Finalize' || !is('finalize-not-stored')) invoice.status = to;
        return json(200, { ...view(invoice), status: to });
      };

    return {
      contract,
      authenticate: (operation, request) => bearerCaller(operation, request),
      reject: ({ status, message }) => json(status, { error: { type: 'invalid_request_error', message } }),
      handlers: {
        GetCustomers: (call) => {
          const { email } = call.values.query;
          const all = [...ownOf(customers, call), ...(is('deleted-listed') ? ownOf(deleted, call) : [])];
          const rows = all.filter((one) => email === undefined || one.email === email);
          return page('/v1/customers', rows, call, true);
        },
        PostCustomers: (call) => {
          const key = `${call.caller.tenant} ${call.request.headers['idempotency-key'] ?? ''}`;
          const text = call.request.body.toString();
          const [before, id] = keys.get(key) ?? [];
          const known = key.endsWith(' ') ? undefined : customers.find((one) => one.id === id);
          if (known !== undefined && before !== text) throw rejection(400, 'The key was used with other parameters');
          if (known !== undefined && !is('key-second')) return json(200, view(known));
          const customer = addCustomer(call.caller.tenant, inputOf(call));
          keys.set(key, [text, customer.id]);
          return json(200, view(customer));
        },
        GetCustomersCustomer: (call) => json(200, view(customerOf(call, is('account-reads')))),
        PostCustomersCustomer: (call) => {
          const customer = customerOf(call);
          const { email, name, description, metadata } = inputOf(call);
          const sent = Object.entries({ email, name, description, metadata }).filter(([, one]) => one !== undefined);
          const result = { ...customer, ...Object.fromEntries(sent) };
          if (metadata !== undefined) result.metadata = { ...Object(customer.metadata), ...Object(metadata) };
          else if (is('metadata-dropped')) result.metadata = {};
          customers[customers.indexOf(customer)] = { ...result, ...(is('name-lost') && { name: customer.name }) };
          return json(200, view(result));
        },
        DeleteCustomersCustomer: (call) => {
          const customer = customerOf(call);
          customers.splice(customers.indexOf(customer), 1);
          deleted.push(customer);
          return json(200, { deleted: true, id: customer.id, object: 'customer' });
        },
        GetInvoices: (call) => {
          const { status, customer } = call.values.query;
          const isOpen = (one: Invoice) => is('pay-listed-open') && one.status === 'paid' && status === 'open';
          const rows = ownOf(invoices, call)
            .filter((one) => status === undefined || one.status === status || isOpen(one))
            .filter((one) => customer === undefined || one.customer === customer);
          return page('/v1/invoices', rows, call, false);
        },
        PostInvoices: (call) => {
          const input = inputOf(call);
          if (!ownOf(customers, call).some(({ id }) => id === input.customer))
            throw rejection(400, `No such customer: ${input.customer}`);
          return json(200, view(addInvoice(call.caller.tenant, input, 'draft')));
        },
        GetInvoicesInvoice: (call) => json(200, view(invoiceOf(call))),
        ...Object.fromEntries(
          actions.map(([name, from, to]) => [`PostInvoicesInvoice${name}`, act(name, from, to)] as const),
        ),
      },
    };
  },
);
