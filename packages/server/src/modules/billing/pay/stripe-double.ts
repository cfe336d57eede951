import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type Stripe from 'stripe';
import { portOf } from '../../../../test/free-port.ts';

interface DoubleSession {
  readonly session: Stripe.Checkout.Session;
  readonly captureMethod: string;
  intent: Stripe.PaymentIntent | undefined;
}

interface DoubleRequest {
  readonly method: string;
  readonly path: string;
  readonly fields: URLSearchParams;
  /** The idempotency key. */
  readonly key: string | string[] | undefined;
}

/** Some fields of a Stripe object, by their names in its API, at any depth. */
type Part<T> = { [Name in keyof T]?: [Extract<T[Name], object>] extends [never] ? T[Name] : unknown };

/** Simulated failures: Stripe processes a request and the response is lost, or it is unreachable. */
type Trouble = 'none' | 'lost' | 'down';

/**
 * A double of Stripe's API, limited to what payments use, written from its public description
 * (https://github.com/stripe/openapi, https://docs.stripe.com/api): form-encoded requests, bearer keys, idempotency keys,
 * sessions, intents, charges, disputes and signed events. It rejects what Stripe would reject.
 */
export async function startStripeDouble(secretKey: string, webhookSecret: string) {
  const sessions = new Map<string, DoubleSession>();
  const responses = new Map<string, { readonly body: string; readonly status: number; readonly response: object }>();
  const disputes: Stripe.Dispute[] = [];
  const requests: DoubleRequest[] = [];
  let trouble: Trouble = 'none';
  const isDown = () => trouble === 'down';

  /** Work before the next request with an ending of its path. */
  const before = new Map<string, () => Promise<unknown>>();

  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (isDown()) return void request.socket.destroy();
    const send = (status: number, result: object) => {
      if (trouble === 'lost') return void request.socket.destroy();
      response.writeHead(status, { 'Content-Type': 'application/json', 'Request-Id': `req_${randomUUID()}` });
      response.end(JSON.stringify(result));
    };
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://stripe');
    const { method = 'GET' } = request;
    const key = request.headers['idempotency-key'];
    requests.push({ method, path: pathname, fields: new URLSearchParams(body), key });
    if (request.headers.authorization !== `Bearer ${secretKey}`)
      return send(401, fault('invalid_request_error', 'Invalid API Key provided.'));
    const known = typeof key === 'string' ? responses.get(key) : undefined;
    if (known !== undefined && known.body !== body)
      return send(
        400,
        fault('idempotency_error', 'Keys for idempotent requests can only be used with the same parameters.'),
      );
    const ending = pathname.slice(pathname.lastIndexOf('/'));
    const work = method === 'POST' ? before.get(ending) : undefined;
    if (work !== undefined) before.delete(ending);
    await work?.();
    if (isDown()) return void request.socket.destroy();
    const { status, response: result } =
      known ?? route(method, pathname, method === 'GET' ? searchParams : new URLSearchParams(body));
    // Results are only stored if the request was processed; requests with rejected parameters can be repeated.
    if (method === 'POST' && typeof key === 'string' && status !== 400)
      responses.set(key, { body, status, response: result });
    send(status, result);
  }

  function route(method: string, path: string, fields: URLSearchParams): { status: number; response: object } {
    const [, kind, id, action] =
      /^\/v1\/(checkout\/sessions|payment_intents|disputes|refunds)(?:\/([^/]+))?(?:\/(\w+))?$/.exec(path) ?? [];
    if (method === 'POST' && kind === 'checkout/sessions' && id === undefined) return create(fields);
    if (method === 'POST' && kind === 'refunds') return refund(fields);
    if (kind === 'disputes' && method === 'GET') {
      const data = disputes.filter(({ payment_intent: of }) => of === fields.get('payment_intent'));
      return { status: 200, response: { object: 'list', url: '/v1/disputes', has_more: false, data } };
    }
    const known =
      kind === 'checkout/sessions'
        ? sessions.get(id ?? '')
        : [...sessions.values()].find(({ intent }) => intent?.id === id);
    if (known === undefined) return rejected(404, 'resource_missing', `No such object: '${id}'`);
    if (kind === 'payment_intents') {
      if (method === 'POST') return change(known, action ?? '');
      if (![...fields.values()].includes('latest_charge.refunds'))
        return rejected(400, 'parameter_missing', 'This double expands everything that the service requests.');
      return { status: 200, response: known.intent ?? {} };
    }
    if (method === 'GET') return { status: 200, response: known.session };
    if (action !== 'expire') return rejected(404, 'resource_missing', 'Unrecognized request URL.');
    if (known.session.status !== 'open')
      return rejected(
        400,
        'checkout_session_not_open',
        'Only Checkout Sessions with a status in ["open"] can be expired.',
      );
    Object.assign(known.session, { status: 'expired', url: null });
    return { status: 200, response: known.session };
  }

  /** Captures or cancels the payment of a session. */
  function change({ intent }: DoubleSession, action: string): { status: number; response: object } {
    if (action !== 'capture' && action !== 'cancel')
      return rejected(404, 'resource_missing', 'Unrecognized request URL.');
    if (intent?.status !== 'requires_capture')
      return rejected(
        400,
        'payment_intent_unexpected_state',
        `This PaymentIntent could not be ${action}led because it has a status of ${intent?.status}.`,
      );
    const changes: Part<Stripe.PaymentIntent> =
      action === 'cancel'
        ? { status: 'canceled', latest_charge: null }
        : { status: 'succeeded', latest_charge: chargeOf(intent.amount) };
    return { status: 200, response: Object.assign(intent, changes) };
  }

  function refund(fields: URLSearchParams): { status: number; response: object } {
    const of = [...sessions.values()].find(({ intent }) => intent?.id === fields.get('payment_intent'))?.intent;
    if (of === undefined) return rejected(404, 'resource_missing', 'No such payment_intent.');
    const charge = of.latest_charge as Stripe.Charge | null;
    if (of.status !== 'succeeded' || charge === null)
      return rejected(
        400,
        'payment_intent_unexpected_state',
        'This PaymentIntent does not have a successful charge to refund.',
      );
    if (charge.refunded) return rejected(400, 'charge_already_refunded', 'The charge has already been refunded.');
    const refund: Part<Stripe.Refund> = {
      id: `re_${randomUUID().replaceAll('-', '')}`,
      object: 'refund',
      amount: of.amount,
      payment_intent: of.id,
      // A refund to a bank account takes days.
      status: of.payment_method_types[0] === 'card' ? 'succeeded' : 'pending',
    };
    charge.refunds?.data.push(refund as Stripe.Refund);
    Object.assign(charge, { refunded: true });
    return { status: 200, response: refund };
  }

  function create(fields: URLSearchParams): { status: number; response: object } {
    const need = [
      'mode',
      'success_url',
      'line_items[0][price_data][currency]',
      'line_items[0][price_data][unit_amount]',
    ];
    const missing = need.find((name) => !fields.has(name));
    if (missing !== undefined) return rejected(400, 'parameter_missing', `Missing required param: ${missing}.`);
    const amount = Number(fields.get('line_items[0][price_data][unit_amount]'));
    if (!Number.isInteger(amount)) return rejected(400, 'parameter_invalid_integer', 'Invalid integer.');
    if (amount < 50) return rejected(400, 'amount_too_small', 'The total must be at least 50 cents.');
    if (amount > 99_999_999) return rejected(400, 'amount_too_large', 'The total must be no more than 999,999.99.');
    const expiresAt = Number(fields.get('expires_at'));
    const inSeconds = expiresAt - Date.now() / 1000;
    if (inSeconds < 1800 || inSeconds > 86_400)
      return rejected(400, 'parameter_invalid', 'expires_at must be between 30 minutes and 24 hours from creation.');
    const method = fields.get('allowed_payment_method_types[0]');
    if (method !== 'card' && method !== 'us_bank_account')
      return rejected(400, 'parameter_invalid', 'Invalid allowed_payment_method_types.');
    const captureMethod = fields.get('payment_intent_data[capture_method]') ?? 'automatic_async';
    if (captureMethod === 'manual' && method !== 'card')
      return rejected(400, 'parameter_invalid', 'This payment method does not support manual capture.');
    const id = `cs_test_${randomUUID().replaceAll('-', '')}`;
    const created: Part<Stripe.Checkout.Session> = {
      id,
      object: 'checkout.session',
      status: 'open',
      payment_status: 'unpaid',
      amount_total: amount,
      currency: fields.get('line_items[0][price_data][currency]'),
      client_reference_id: fields.get('client_reference_id'),
      metadata: { tenant: fields.get('metadata[tenant]'), attempt: fields.get('metadata[attempt]') },
      payment_method_types: [method],
      payment_intent: null,
      url: `https://checkout.stripe.com/c/pay/${id}`,
      expires_at: expiresAt,
    };
    const session = created as Stripe.Checkout.Session;
    sessions.set(id, { session, captureMethod, intent: undefined });
    return { status: 200, response: session };
  }

  /** Completes Checkout as a payer. A card is authorized or paid at once, a bank account is pending. */
  function complete(id: string): void {
    const known = sessions.get(id);
    if (known?.session.status !== 'open') throw new Error('The session is not open.');
    const { captureMethod } = known;
    const isCard = known.session.payment_method_types[0] === 'card';
    const isPaid = isCard && captureMethod !== 'manual';
    const amount = known.session.amount_total ?? 0;
    const intent: Part<Stripe.PaymentIntent> = {
      id: `pi_${randomUUID().replaceAll('-', '')}`,
      object: 'payment_intent',
      amount,
      currency: known.session.currency ?? 'usd',
      status: isPaid ? 'succeeded' : isCard ? 'requires_capture' : 'processing',
      capture_method: captureMethod,
      payment_method_types: known.session.payment_method_types,
      metadata: known.session.metadata,
      last_payment_error: null,
      payment_method: isCard
        ? { type: 'card', card: { brand: 'visa', last4: '4242' } }
        : { type: 'us_bank_account', us_bank_account: { last4: '6789' } },
      latest_charge: isPaid ? chargeOf(amount) : null,
    };
    known.intent = intent as Stripe.PaymentIntent;
    Object.assign(known.session, {
      status: 'complete',
      url: null,
      payment_status: isPaid ? 'paid' : 'unpaid',
      payment_intent: known.intent.id,
    });
  }

  function chargeOf(amount: number): Part<Stripe.Charge> {
    return {
      id: `ch_${randomUUID().replaceAll('-', '')}`,
      disputed: false,
      refunded: false,
      refunds: { object: 'list', url: '/v1/refunds', has_more: false, data: [] },
      balance_transaction: { object: 'balance_transaction', currency: 'usd', fee: Math.round(amount * 0.029) + 30 },
    };
  }

  const intentOf = (id: string): Stripe.PaymentIntent => {
    const intent = sessions.get(id)?.intent;
    if (intent === undefined) throw new Error('The session is not complete.');
    return intent;
  };

  return {
    host: '127.0.0.1',
    port: portOf(server),
    sessions,
    requests,
    complete,
    set trouble(value: Trouble) {
      trouble = value;
    },
    /** Does something before Stripe processes the next request whose path has this ending. */
    before: (ending: string, work: () => Promise<unknown>) => void before.set(ending, work),
    /** Forgets idempotency keys, as Stripe does after a day. */
    forgetKeys: () => responses.clear(),
    /** Returns the payment of a completed session. */
    intentOf,
    /** The firm refunds a payment in Stripe's dashboard. */
    refundByHand: (id: string) => refund(new URLSearchParams({ payment_intent: intentOf(id).id })),
    /** The refund of a bank account arrives, or fails. */
    endRefund(id: string, status: 'succeeded' | 'failed'): Stripe.Refund {
      const charge = intentOf(id).latest_charge as Stripe.Charge;
      const refund = charge.refunds?.data.at(-1);
      if (refund === undefined) throw new Error('The payment has no refund.');
      Object.assign(charge, { refunded: status === 'succeeded' });
      return Object.assign(refund, { status });
    },
    /** The bank pays a pending payment. */
    settle: (id: string) =>
      Object.assign(intentOf(id), { status: 'succeeded', latest_charge: chargeOf(intentOf(id).amount) }),
    /** The bank rejects a pending payment. */
    fail: (id: string) =>
      Object.assign(intentOf(id), {
        status: 'requires_payment_method',
        last_payment_error: { code: 'insufficient_funds', message: 'The account has insufficient funds.' },
      }),
    /** The payer disputes a payment; a lost dispute returns it. */
    dispute(id: string, status: Stripe.Dispute.Status): Stripe.Dispute {
      const intent = intentOf(id);
      Object.assign(intent.latest_charge ?? {}, { disputed: true });
      const dispute: Part<Stripe.Dispute> = {
        id: `du_${randomUUID()}`,
        object: 'dispute',
        payment_intent: intent.id,
        reason: 'debit_not_authorized',
        status,
      };
      const created = dispute as Stripe.Dispute;
      disputes.push(created);
      return created;
    },
    expire: (id: string) => Object.assign(sessions.get(id)?.session ?? {}, { status: 'expired', url: null }),
    /** Creates a notification, with its signature header (https://docs.stripe.com/webhooks/signature). */
    notification(event: unknown, secret = webhookSecret, at = Math.floor(Date.now() / 1000)) {
      const body = JSON.stringify(event);
      const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
      return { body, signature: `t=${at},v1=${signature}` };
    },
    stop: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  };
}

function rejected(status: number, code: string, message: string) {
  return { status, response: { error: { type: 'invalid_request_error', code, message } } };
}

function fault(type: string, message: string) {
  return { error: { type, message } };
}
