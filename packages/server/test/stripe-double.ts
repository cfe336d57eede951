import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type Stripe from 'stripe';
import { portOf } from './free-port.ts';

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

/** What the double sends. */
interface Response {
  readonly status: number;
  readonly response: object;
}

/**
 * A double of Stripe's API, limited to what payments use, written from its public description
 * (https://github.com/stripe/openapi, https://docs.stripe.com/api): form-encoded requests, bearer keys, idempotency keys,
 * sessions, intents, charges, disputes and signed events. It rejects what Stripe would reject.
 */
class StripeDouble {
  readonly host = '127.0.0.1';
  readonly sessions = new Map<string, DoubleSession>();
  readonly requests: DoubleRequest[] = [];
  trouble: Trouble = 'none';
  readonly #secretKey: string;
  readonly #webhookSecret: string;
  readonly #responses = new Map<string, Response & { readonly body: string }>();
  readonly #disputes: Stripe.Dispute[] = [];
  /** Work before the next request with an ending of its path. */
  readonly #before = new Map<string, () => Promise<unknown>>();
  readonly #server = createServer((request, response) => {
    this.#respond(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });

  constructor(secretKey: string, webhookSecret: string) {
    this.#secretKey = secretKey;
    this.#webhookSecret = webhookSecret;
  }

  get port(): number {
    return portOf(this.#server);
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, this.host, resolve));
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve).closeAllConnections());
  }

  /** Does something before Stripe processes the next request whose path has this ending. */
  before(ending: string, work: () => Promise<unknown>): void {
    this.#before.set(ending, work);
  }

  /** Forgets idempotency keys, as Stripe does after a day. */
  forgetKeys(): void {
    this.#responses.clear();
  }

  /** Completes Checkout as a payer. A card is authorized or paid at once, a bank account is pending. */
  complete(id: string): void {
    const known = this.sessions.get(id);
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

  /** Returns the payment of a completed session. */
  intentOf(id: string): Stripe.PaymentIntent {
    const intent = this.sessions.get(id)?.intent;
    if (intent === undefined) throw new Error('The session is not complete.');
    return intent;
  }

  /** The firm refunds a payment in Stripe's dashboard. */
  refundByHand(id: string): Response {
    return this.#refund(new URLSearchParams({ payment_intent: this.intentOf(id).id }));
  }

  /** The refund of a bank account arrives, or fails. */
  endRefund(id: string, status: 'succeeded' | 'failed'): Stripe.Refund {
    const charge = this.intentOf(id).latest_charge as Stripe.Charge;
    const refund = charge.refunds?.data.at(-1);
    if (refund === undefined) throw new Error('The payment has no refund.');
    Object.assign(charge, { refunded: status === 'succeeded' });
    return Object.assign(refund, { status });
  }

  /** The bank pays a pending payment. */
  settle(id: string): Stripe.PaymentIntent {
    const intent = this.intentOf(id);
    const changes: Part<Stripe.PaymentIntent> = { status: 'succeeded', latest_charge: chargeOf(intent.amount) };
    return Object.assign(intent, changes);
  }

  /** The bank rejects a pending payment. */
  fail(id: string): Stripe.PaymentIntent {
    const changes: Part<Stripe.PaymentIntent> = {
      status: 'requires_payment_method',
      last_payment_error: { code: 'insufficient_funds', message: 'The account has insufficient funds.' },
    };
    return Object.assign(this.intentOf(id), changes);
  }

  /** The payer disputes a payment; a lost dispute returns it. */
  dispute(id: string, status: Stripe.Dispute.Status): Stripe.Dispute {
    const intent = this.intentOf(id);
    Object.assign(intent.latest_charge ?? {}, { disputed: true });
    const dispute: Part<Stripe.Dispute> = {
      id: `du_${randomUUID()}`,
      object: 'dispute',
      payment_intent: intent.id,
      reason: 'debit_not_authorized',
      status,
    };
    const created = dispute as Stripe.Dispute;
    this.#disputes.push(created);
    return created;
  }

  expire(id: string): object {
    return Object.assign(this.sessions.get(id)?.session ?? {}, { status: 'expired', url: null });
  }

  /** Creates a notification, with its signature header (https://docs.stripe.com/webhooks/signature). */
  notification(event: unknown, secret = this.#webhookSecret, at = Math.floor(Date.now() / 1000)) {
    const body = JSON.stringify(event);
    const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
    return { body, signature: `t=${at},v1=${signature}` };
  }

  #isDown(): boolean {
    return this.trouble === 'down';
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (this.#isDown()) return void request.socket.destroy();
    const send = (status: number, result: object) => {
      if (this.trouble === 'lost') return void request.socket.destroy();
      response.writeHead(status, { 'Content-Type': 'application/json', 'Request-Id': `req_${randomUUID()}` });
      response.end(JSON.stringify(result));
    };
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://stripe');
    const { method = 'GET' } = request;
    const key = request.headers['idempotency-key'];
    this.requests.push({ method, path: pathname, fields: new URLSearchParams(body), key });
    if (request.headers.authorization !== `Bearer ${this.#secretKey}`)
      return send(401, fault('invalid_request_error', 'Invalid API Key provided.'));
    const known = typeof key === 'string' ? this.#responses.get(key) : undefined;
    if (known !== undefined && known.body !== body)
      return send(
        400,
        fault('idempotency_error', 'Keys for idempotent requests can only be used with the same parameters.'),
      );
    const ending = pathname.slice(pathname.lastIndexOf('/'));
    const work = method === 'POST' ? this.#before.get(ending) : undefined;
    if (work !== undefined) this.#before.delete(ending);
    await work?.();
    if (this.#isDown()) return void request.socket.destroy();
    const { status, response: result } =
      known ?? this.#route(method, pathname, method === 'GET' ? searchParams : new URLSearchParams(body));
    // Results are only stored if the request was processed; requests with rejected parameters can be repeated.
    if (method === 'POST' && typeof key === 'string' && status !== 400)
      this.#responses.set(key, { body, status, response: result });
    send(status, result);
  }

  #route(method: string, path: string, fields: URLSearchParams): Response {
    const [, kind, id, action] =
      /^\/v1\/(checkout\/sessions|payment_intents|disputes|refunds)(?:\/([^/]+))?(?:\/(\w+))?$/.exec(path) ?? [];
    if (method === 'POST' && kind === 'checkout/sessions' && id === undefined) return this.#create(fields);
    if (method === 'POST' && kind === 'refunds') return this.#refund(fields);
    if (kind === 'disputes' && method === 'GET') {
      const data = this.#disputes.filter(({ payment_intent: of }) => of === fields.get('payment_intent'));
      return { status: 200, response: { object: 'list', url: '/v1/disputes', has_more: false, data } };
    }
    const known =
      kind === 'checkout/sessions'
        ? this.sessions.get(id ?? '')
        : [...this.sessions.values()].find(({ intent }) => intent?.id === id);
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

  #refund(fields: URLSearchParams): Response {
    const of = [...this.sessions.values()].find(({ intent }) => intent?.id === fields.get('payment_intent'))?.intent;
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

  #create(fields: URLSearchParams): Response {
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
    this.sessions.set(id, { session, captureMethod, intent: undefined });
    return { status: 200, response: session };
  }
}

export async function startStripeDouble(secretKey: string, webhookSecret: string): Promise<StripeDouble> {
  const double = new StripeDouble(secretKey, webhookSecret);
  await double.start();
  return double;
}

/** Captures or cancels the payment of a session. */
function change({ intent }: DoubleSession, action: string): Response {
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

function chargeOf(amount: number): Part<Stripe.Charge> {
  return {
    id: `ch_${randomUUID().replaceAll('-', '')}`,
    disputed: false,
    refunded: false,
    refunds: { object: 'list', url: '/v1/refunds', has_more: false, data: [] },
    balance_transaction: { object: 'balance_transaction', currency: 'usd', fee: Math.round(amount * 0.029) + 30 },
  };
}

function rejected(status: number, code: string, message: string): Response {
  return { status, response: { error: { type: 'invalid_request_error', code, message } } };
}

function fault(type: string, message: string) {
  return { error: { type, message } };
}
