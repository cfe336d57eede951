import express, { type Request, type RequestHandler, type Response } from 'express';
import { v7 as uuidv7 } from 'uuid';
import type { Tenant } from '../auth/caller.ts';
import { toProblem } from '../failure.ts';
import { mayBeLarge } from '../http/input.ts';
import { paceBody } from '../http/paced-body.ts';
import { dataHeaders } from '../http/pages.ts';
import type { Service } from '../service.ts';
import { type Attempt, findAttempt } from './attempt.ts';
import { type Browser, browserOf, formKey, isFormKey, isOwnOrigin } from './browser.ts';
import { type Entered, type FieldError, type FormShape, readForm } from './form.ts';
import { formPage } from './form-page.ts';
import { addressKey, createPayLimits } from './limits.ts';
import { findLink, type LinkPage, readLinkPage } from './link-page.ts';
import { cancelAttempt, lookAgain, pageWrites, payLink } from './pay-link.ts';
import { MalformedNotification, type NotifiedAttempt, UnverifiedNotification } from './processor.ts';
import { type FollowUp, followUp } from './reconcile.ts';
import {
  challengePage,
  continuePage,
  endedPage,
  failurePage,
  foreignFormPage,
  processingPage,
  receiptPage,
  unavailablePage,
  unknownPage,
  usedPage,
} from './result-pages.ts';
import { contentPolicy } from './style.ts';

/** A response to a browser, or to a processor. */
interface Reply {
  readonly status: number;
  readonly page?: string;
  /** Target of a redirect. */
  readonly location?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request for an existing link, with its data. */
interface Visit extends Pick<FollowUp, 'tenant' | 'write' | 'log'> {
  readonly browser: Browser;
  readonly link: LinkPage;
  /** The path of the page in the browser. */
  readonly path: string;
}

const pageHeaders = {
  ...dataHeaders,
  'Content-Security-Policy': contentPolicy,
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'X-Robots-Tag': 'noindex, nofollow',
  'Permissions-Policy': 'geolocation=(), camera=(), microphone=()',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

/** Maximum size of a form, and of a notification, in bytes. */
const largestForm = 16 * 1024;
const largestNotification = 1024 * 1024;

type Step = 'page' | 'continue' | 'challenge' | 'cancel';

const methodsOf: Readonly<Record<Step, readonly string[]>> = {
  page: ['GET', 'HEAD', 'POST'],
  continue: ['GET', 'HEAD'],
  challenge: ['GET', 'HEAD', 'POST'],
  cancel: ['POST'],
};

/** Pages on which payers pay links, below `/pay/`. A token is a secret: logs and metrics do not contain it. */
export function paymentPages(service: Service): RequestHandler {
  const { config, processor, store, vault, shares } = service;
  const limits = createPayLimits(config.rateLimitFactor);
  const readText = express.text({ type: 'application/x-www-form-urlencoded', limit: largestForm });
  const readBytes = express.raw({ type: () => true, limit: largestNotification });
  const isTest = processor?.isTest ?? false;

  return async (request, response, next) => {
    if (!request.path.startsWith('/pay/')) return next();
    const started = process.hrtime.bigint();
    const requestId = uuidv7();
    const log = service.log.child({ requestId });
    const tenant: { name?: string } = {};
    let reply: Reply;
    try {
      reply = await (request.path === '/pay/webhook'
        ? notified(request, response, requestId, log)
        : visited(request, response, requestId, log, tenant));
    } catch (error) {
      reply = failed(error, requestId, log);
    }
    send(request, response, { ...reply, headers: { 'X-Request-Id': requestId, ...reply.headers } });
    const seconds = Number(process.hrtime.bigint() - started) / 1e9;
    service.metrics.responded('paymentPage', reply.status, seconds);
    service.log.info({
      requestId,
      operation: 'paymentPage',
      tenant: tenant.name,
      method: request.method,
      path: '/pay/…',
      status: reply.status,
      milliseconds: Math.round(seconds * 1e5) / 100,
    });
  };

  /** The steps of a payer's request, in order. */
  async function visited(
    request: Request,
    response: Response,
    requestId: string,
    log: Visit['log'],
    seen: { name?: string },
  ): Promise<Reply> {
    const address = addressKey(request.ip);
    await limits.take('request', address);
    await limits.check('unknown', address);
    const [, token = '', step = 'page'] =
      /^\/pay\/([^/]{1,500})(?:\/(continue|challenge|cancel))?$/.exec(request.path) ?? [];
    // Malformed tokens are looked up too, so that they cannot be distinguished from unknown ones.
    const found = await findLink(store, token);
    const tenant = found === undefined ? undefined : await service.directory.tenant(found.tenantName);
    if (found === undefined || tenant === undefined) {
      await limits.take('unknown', address).catch(() => undefined);
      return { status: 404, page: unknownPage() };
    }
    seen.name = tenant.name;
    const allowed = methodsOf[stepNamed(step)];
    if (!allowed.includes(request.method))
      return { status: 405, headers: { Allow: allowed.join(', ') }, page: failurePage(405, undefined, '') };
    await limits.take('link', `${tenant.id}/${found.linkId}`);

    const isSubmission = request.method === 'POST';
    using places = new DisposableStack();
    if (isSubmission && mayBeLarge(request, largestForm)) places.defer(await service.largeBodies.enter('', address));
    const fields = isSubmission ? await readFields(request, response) : new URLSearchParams();
    if (fields === undefined) return { status: 415, page: failurePage(415, undefined, '') };
    if (isSubmission) {
      await limits.take('submission', address);
      await limits.take('payment', `${tenant.id}/${found.linkId}`);
    }
    const browser = browserOf(request.get('cookie'), config.publicUrl.startsWith('https:'));
    const leave = await shares.enter(tenant.name, address);
    let link: LinkPage;
    try {
      link = await store.read(tenant.id, (session) => readLinkPage(session, tenant.id, found.linkId));
    } finally {
      leave();
    }
    const write = pageWrites(service, tenant, requestId);
    const path = `${new URL(config.publicUrl).pathname.replace(/\/$/, '')}/pay/${token}`;
    const visit: Visit = { tenant, write, log, browser, link, path };
    if (!isSubmission) {
      const reply = await (step === 'page' ? shown(visit) : shownStep(visit, stepNamed(step)));
      return browser.setCookie === undefined
        ? reply
        : { ...reply, headers: { ...reply.headers, 'Set-Cookie': browser.setCookie } };
    }
    const origin = { site: request.get('sec-fetch-site'), origin: request.get('origin'), host: request.get('host') };
    if (!isOwnOrigin(origin, config.publicUrl) || !isFormKey(vault, link.id, browser, fields.get('formKey') ?? ''))
      return { status: 403, page: foreignFormPage(path) };
    if (step === 'page') return submitted(visit, fields);
    return handledStep(visit, stepNamed(step), fields);
  }

  /** The page of a link in its current state. */
  async function shown(visit: Visit): Promise<Reply> {
    const { link } = visit;
    if (link.status !== 'PROCESSING' || link.attempt === undefined || processor === undefined) return pageOf(visit);
    return pageOf((await lookAgain(service, { processor, ...visit }, link.attempt)) ? await again(visit) : visit);
  }

  async function again(visit: Visit): Promise<Visit> {
    const { tenant, link } = visit;
    return { ...visit, link: await store.read(tenant.id, (session) => readLinkPage(session, tenant.id, link.id)) };
  }

  function pageOf(visit: Visit): Reply {
    const { link, path } = visit;
    const own = ownAttempt(visit);
    switch (link.status) {
      case 'ACTIVE':
        return payable(visit, 200, undefined, []);
      case 'PROCESSING': {
        const key = formKey(vault, link.id, visit.browser);
        const page = processingPage({
          link,
          path,
          isTest,
          own: own === undefined ? undefined : { attempt: own, formKey: key },
        });
        return { status: 200, page };
      }
      case 'USED':
        return own !== undefined && link.payment !== undefined
          ? { status: 200, page: receiptPage(link, link.payment, isTest) }
          : { status: 410, page: usedPage(link) };
      default:
        return { status: 410, page: endedPage(link, link.status) };
    }
  }

  function payable(visit: Visit, status: number, entered: Entered | undefined, errors: readonly FieldError[]): Reply {
    const { link, browser } = visit;
    const shape = shapeOf(link);
    if (shape === undefined) return { status: 503, page: unavailablePage(link) };
    const own = ownAttempt(visit);
    const before: Entered = {
      amount: own === undefined ? '' : own.amount,
      method: own?.method,
      payerName: own?.payerName ?? '',
      payerEmail: own?.payerEmail ?? '',
    };
    const shownLink = { ...link, attempt: own };
    const key = formKey(vault, link.id, browser);
    return {
      status,
      page: formPage({ link: shownLink, shape, entered: entered ?? before, errors, formKey: key, isTest }),
    };
  }

  function shapeOf(link: LinkPage): FormShape | undefined {
    if (processor === undefined) return undefined;
    const methods = processor.methodsFor(link.currency);
    if (methods.length === 0) return undefined;
    return {
      currency: link.currency,
      requiresAmount: link.amount === null,
      methods,
      requiresDetails: processor.collectsDetails,
    };
  }

  /** Handles a submitted form. */
  async function submitted(visit: Visit, fields: URLSearchParams): Promise<Reply> {
    const { link, browser, path, tenant } = visit;
    const shape = shapeOf(link);
    if (link.status !== 'ACTIVE' || shape === undefined || processor === undefined) return tooLate(visit);
    const today = Temporal.Now.zonedDateTimeISO(tenant.timeZone).toPlainDate();
    const { entered, errors, submitted: form } = readForm(fields, shape, today);
    if (form === undefined) return payable(visit, 422, entered, errors);
    const attempt = await payLink({ processor, ...visit }, link, form, browser.sessionHash);
    if (attempt === undefined) return tooLate(await again(visit));
    const now = await store.read(tenant.id, (session) => findAttempt(session, tenant.id, attempt.id));
    const isWaiting = now?.status === 'OPEN' && now.actionUrl !== null;
    return { status: 303, location: isWaiting ? `${path}/continue` : path };
  }

  /**
   * The link is being paid, was paid, or can no longer be paid. A payer who submitted the form twice sees the result of
   * the first submission.
   */
  function tooLate(visit: Visit): Reply {
    const { link, path } = visit;
    if (ownAttempt(visit) !== undefined) return { status: 303, location: path };
    if (link.status === 'ACTIVE') return pageOf(visit);
    return { ...pageOf(visit), status: 409 };
  }

  function shownStep(visit: Visit, step: Step): Reply {
    const { link, path, browser } = visit;
    const own = openAttempt(visit);
    if (own?.actionUrl === undefined || own.actionUrl === null) return { status: 303, location: path };
    if (step === 'continue') return { status: 200, page: continuePage(link, own.actionUrl, isTest) };
    if (processor?.answerChallenge === undefined) return { status: 303, location: path };
    return { status: 200, page: challengePage(link, own, formKey(vault, link.id, browser)) };
  }

  /** Handles the answer to a challenge, or the cancellation of a payment that waits for one. */
  async function handledStep(visit: Visit, step: Step, fields: URLSearchParams): Promise<Reply> {
    const { path } = visit;
    const own = openAttempt(visit);
    if (own === undefined || own.actionUrl === null || processor === undefined) return { status: 303, location: path };
    const context = { processor, ...visit };
    if (step === 'cancel') await cancelAttempt(context, own);
    else if (processor.answerChallenge !== undefined) {
      // Cancels the payment if its link can no longer be paid: the answer then has no effect.
      await followUp(context, own);
      await processor.answerChallenge(own.id, fields.get('answer') === 'confirm');
      await followUp(context, own);
    }
    return { status: 303, location: path };
  }

  /** Handles a notification of a processor. The state itself is queried at the processor. */
  async function notified(request: Request, response: Response, requestId: string, log: Visit['log']): Promise<Reply> {
    if (processor?.readNotification === undefined) return { status: 404, page: unknownPage() };
    if (request.method !== 'POST')
      return { status: 405, headers: { Allow: 'POST' }, page: failurePage(405, undefined, '') };
    const address = addressKey(request.ip);
    using places = new DisposableStack();
    if (mayBeLarge(request, largestNotification)) places.defer(await service.largeBodies.enter('', address));
    paceBody(request);
    const body = await parsed<Buffer>(readBytes, request, response);
    let about: NotifiedAttempt | undefined;
    try {
      about = await processor.readNotification(body, request.get('stripe-signature'));
    } catch (error) {
      if (error instanceof MalformedNotification) {
        log.warn({ reason: error.message }, 'A notification of the payment processor is malformed.');
        return { status: 400 };
      }
      if (!(error instanceof UnverifiedNotification)) throw error;
      // Counted after verification, so that forged notifications never block genuine ones of the same address.
      await limits.take('notification', address);
      log.warn('A notification is not from the payment processor.');
      return { status: 400 };
    }
    const tenant: Tenant | undefined = about === undefined ? undefined : await service.directory.tenant(about.tenant);
    if (about === undefined || tenant === undefined) return { status: 200 };
    const { key } = about;
    const attempt = await store.read(tenant.id, (session) => findAttempt(session, tenant.id, key));
    if (attempt === undefined) return { status: 200 };
    const write = pageWrites(service, tenant, requestId);
    await followUp({ processor, tenant, write, log }, attempt);
    return { status: 200 };
  }

  /** Reads the fields of a form; undefined if the body is not a form. */
  async function readFields(request: Request, response: Response): Promise<URLSearchParams | undefined> {
    if (!request.is('application/x-www-form-urlencoded')) return undefined;
    const text = await parsed<unknown>(readText, request, response);
    return new URLSearchParams(typeof text === 'string' ? text : '');
  }
}

function stepNamed(text: string): Step {
  return text === 'continue' || text === 'challenge' || text === 'cancel' ? text : 'page';
}

/** The attempt that determines the state of the link, if this browser started it. */
function ownAttempt({ link: { attempt }, browser }: Visit): Attempt | undefined {
  return attempt?.sessionHash === browser.sessionHash ? attempt : undefined;
}

function openAttempt(visit: Visit): Attempt | undefined {
  const own = ownAttempt(visit);
  return own?.status === 'OPEN' ? own : undefined;
}

function failed(error: unknown, requestId: string, log: Visit['log']): Reply {
  const problem = isBodyError(error) ? undefined : toProblem(error, log);
  const status = problem?.status ?? (isBodyError(error) ? error.status : 500);
  const headers = problem?.headers ?? {};
  return { status, headers, page: failurePage(status, headers['Retry-After'], requestId) };
}

/** Whether the body was too long, truncated, or in an unknown encoding. */
function isBodyError(error: unknown): error is { readonly status: number } {
  const { status, expose } = (typeof error === 'object' && error !== null ? error : {}) as {
    status?: unknown;
    expose?: unknown;
  };
  return typeof status === 'number' && status >= 400 && status < 500 && expose === true;
}

function parsed<Body>(parse: RequestHandler, request: Request, response: Response): Promise<Body> {
  return new Promise((resolve, reject) => {
    parse(request, response, (error: unknown) => (error === undefined ? resolve(request.body) : reject(error)));
  });
}

function send(request: Request, response: Response, { status, page = '', location, headers }: Reply): void {
  const redirect = location === undefined ? {} : { Location: location };
  const type = page === '' ? {} : { 'Content-Type': 'text/html; charset=utf-8' };
  response.writeHead(status, {
    ...pageHeaders,
    ...headers,
    ...redirect,
    ...type,
    'Content-Length': Buffer.byteLength(page),
  });
  response.end(request.method === 'HEAD' ? undefined : page);
}
