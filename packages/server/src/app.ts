import type { RequestListener } from 'node:http';
import express, { type Request, type Response } from 'express';
import { v7 as uuidv7 } from 'uuid';
import { authorize, checkRoles, isPublic } from './auth/roles.ts';
import type { Context, PublicContext } from './context.ts';
import type { Operation } from './contract/contract.ts';
import { rowsBeyondBounds } from './contract/row-findings.ts';
import { toProblem } from './failure.ts';
import { findUnstorable } from './http/body.ts';
import { checkRequest } from './http/check-request.ts';
import { deprecationHeaders } from './http/deprecation.ts';
import type { FailureLimit } from './http/failure-limit.ts';
import { checkAccept, hasTag } from './http/headers.ts';
import { type Claim, claimKey, isReplay, type StoredResponse } from './http/idempotency.ts';
import { bodyReader, cleanParameters, mayBeLarge } from './http/input.ts';
import { largeBody } from './http/large-bodies.ts';
import { withPacedBodies } from './http/paced-body.ts';
import { dataHeaders } from './http/pages.ts';
import { invalid, Problem, problemDocument } from './http/problem.ts';
import { createRouter } from './http/router.ts';
import { readTraceparent } from './http/trace-context.ts';
import { Turn } from './http/turn.ts';
import { paymentPages } from './pay/routes.ts';
import { contentPath, contentRoute } from './resources/files/content-route.ts';
import { type AnyHandler, handlers } from './resources/handlers.ts';
import type { Service } from './service.ts';
import { type Credentials, signIn } from './sign-in.ts';
import { systemRoutes } from './system-routes.ts';

interface HandlerResult {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: unknown;
}

/**
 * The service over HTTP: the steps of a request, in order. Only this module handles requests and responses; every step
 * works on values and throws a `Problem` to reject the request.
 *
 * @throws Error at start if an operation of the contract names no role.
 */
export function createApp(service: Service): RequestListener {
  checkRoles();
  const findRoute = createRouter();
  const readBody = bodyReader();
  const app = express();
  app.disable('x-powered-by');
  // Handlers set the ETag; the one that Express calculates would differ.
  app.disable('etag');
  app.set('trust proxy', service.config.trustProxy);
  app.use(systemRoutes(service));
  app.use(paymentPages(service));
  app.all(contentPath, contentRoute(service));
  app.use((request, response) => handle(request, response));
  return withPacedBodies((request, response) =>
    app(request as Request, response as Response, (error) => sendFallback(response as Response, error)),
  );

  async function handle(request: Request, response: Response): Promise<void> {
    const started = process.hrtime.bigint();
    const requestId = uuidv7();
    const traceparent = readTraceparent(request.get('traceparent'));
    // Created lazily: most requests log only the one line below.
    const log = lazily(() => service.log.child({ requestId, ...(traceparent === undefined ? {} : { traceparent }) }));
    const headers: Record<string, string> = { 'X-Request-Id': requestId };
    let operation: Operation | undefined;
    let tenant: string | undefined;
    let result: HandlerResult;
    let endAttempt: ReturnType<FailureLimit['attempt']> | undefined;
    try {
      const route = findRoute(request.method, request.path);
      operation = route.operation;
      Object.assign(headers, deprecationHeaders(operation));
      checkAccept(request.get('accept'));

      const address = request.ip ?? '';
      const tenantName = request.get('tenant');
      const clientId = request.get('x-client-id');
      const open: PublicContext = { service, operation, requestId, traceparent, address, clientId, tenantName };
      if (isPublic(operation)) endAttempt = service.failureLimit.attempt(address);
      const context: PublicContext | Context = isPublic(operation) ? open : await signIn(open, credentials(request));
      // A request without a caller has no user to limit yet: the operation applies the limit once it has verified the
      // key.
      if (context.caller !== undefined) {
        tenant = context.tenant.name;
        const limited = `${context.tenant.id}/${context.caller.apiUserId}`;
        Object.assign(headers, await service.rateLimit.take(operation, limited));
        authorize(operation, context.caller.roles);
      }

      using places = new DisposableStack();
      const user = context.caller?.apiUserId ?? address;
      if (mayBeLarge(request, operation.bodyLimit ?? 0))
        places.defer(await service.largeBodies.enter(tenant ?? '', user));
      const bytes = await readBody(operation, request, response);
      const path = cleanParameters('path', route.path);
      const query = cleanParameters('query', request.query);
      // Only complete requests wait for their turn: a slow sender must not occupy a place.
      const turn = await Turn.start(service, tenant ?? '', user);
      places.defer(() => turn.end());
      const raw = { path, query, headers: request.headers, bytes };
      const isLarge = bytes !== undefined && bytes.length >= largeBody;
      const checked = await (isLarge
        ? service.largeBodyChecks.check(operation, raw, tenant ?? '', user)
        : checkRequest(service.validator, operation, raw));

      const input = { path, ...checked, bytes };
      const admitted = context.caller === undefined ? context : { ...context, read: readInTurn(context, turn) };
      result = await (isKeyed(admitted, request)
        ? handleOnce(admitted, request.get('idempotency-key') ?? '', input)
        : handlerOf(operation)(admitted, input));
      endAttempt?.(false);
    } catch (error) {
      const problem = toProblem(error, log());
      // Of a public operation, a request that is wrong is a failed attempt. One with a valid key that is rejected is none.
      if (endAttempt !== undefined) endAttempt(problem.status < 500 && ![403, 429].includes(problem.status));
      else if (problem.code === 'UNAUTHENTICATED') service.failureLimit.count(request.ip ?? '');
      Object.assign(headers, problem.headers);
      result = { status: problem.status, body: problemDocument(problem, requestId) };
    }
    if (operation !== undefined) {
      result = await checkResult(operation, result, requestId, log);
      if (isNotModified(operation, result, request.get('if-none-match')))
        result = { status: 304, headers: result.headers, body: undefined };
    }
    send(response, result, headers);

    const seconds = Number(process.hrtime.bigint() - started) / 1e9;
    service.metrics.responded(operation?.id ?? 'none', result.status, seconds);
    service.log.info({
      requestId,
      ...(traceparent === undefined ? {} : { traceparent }),
      operation: operation?.id,
      tenant,
      method: request.method,
      status: result.status,
      milliseconds: Math.round(seconds * 1e5) / 100,
    });
  }

  /** Sends the response if no route did: an unknown path, or an error in the steps themselves. */
  function sendFallback(response: Response, error: unknown): void {
    if (response.headersSent) return void response.destroy();
    const problem =
      error === undefined ? new Problem('NOT_FOUND', 'This path does not exist.') : toProblem(error, service.log);
    send(response, { status: problem.status, headers: problem.headers, body: problemDocument(problem, uuidv7()) }, {});
  }

  /** Runs a handler under an `Idempotency-Key`: its response is stored in the same transaction as its changes. */
  async function handleOnce(context: Context, key: string, input: Parameters<AnyHandler>[1]): Promise<HandlerResult> {
    // The key is stored with a hash of the input, and values that cannot be stored cannot be hashed.
    const unstorable = findUnstorable(input.body);
    if (unstorable !== undefined) throw invalid(unstorable.pointer, 'UNSTORABLE', unstorable.detail);
    const claim = await claimKey(service.store, context, context.operation, key, input);
    if (isReplay(claim)) return { ...claim, headers: { ...claim.headers, 'Idempotency-Replayed': 'true' } };
    // A key that remains claimed becomes available again after a minute.
    const release = () =>
      claim.release().catch((error: unknown) => service.log.warn({ err: error }, 'A key was not released.'));
    try {
      const result = await handlerOf(context.operation)({ ...context, write: storingResult(context, claim) }, input);
      if (!claim.isStored()) await release();
      return result;
    } catch (error) {
      await release();
      throw error;
    }
  }

  /**
   * Replaces a response that violates the contract with an `INTERNAL_ERROR` problem, and logs the findings. If stored
   * values only exceed a bound, it is sent: one row must not prevent the others from being read.
   */
  async function checkResult(
    operation: Operation,
    result: HandlerResult,
    requestId: string,
    log: () => Service['log'],
  ): Promise<HandlerResult> {
    const isProblem = result.status >= 400;
    if (!isProblem && Math.random() >= service.config.responseValidation) return result;
    const findings = await service.validator.response(operation, result.status, mediaType(result.status), result.body);
    if (findings.length === 0) return result;
    const rows = isProblem ? undefined : rowsBeyondBounds(findings, result.body);
    const outcome = rows === undefined ? 'withheld' : 'sent';
    service.metrics.invalidResponses.inc({ operation: operation.id, status: result.status, outcome });
    if (rows !== undefined) {
      for (const row of rows)
        log().error(
          { operation: operation.id, ...row },
          'A row exceeds a bound of the contract. It was sent as it is stored.',
        );
      return result;
    }
    log().error(
      { operation: operation.id, status: result.status, findings },
      'A response violates the contract and was not sent.',
    );
    const fault = new Problem(
      'INTERNAL_ERROR',
      'The response would have violated the contract. Report the requestId to support.',
    );
    return { status: fault.status, body: problemDocument(fault, requestId) };
  }
}

/** Returns a function that calls `create` once and then returns the same value. */
function lazily<T>(create: () => T): () => T {
  let value: T | undefined;
  return () => {
    value ??= create();
    return value;
  };
}

function credentials(request: Request): Credentials {
  return { authorization: request.get('authorization'), ifMatch: request.get('if-match') };
}

function isKeyed(context: PublicContext | Context, request: Request): context is Context {
  return (
    context.caller !== undefined &&
    context.operation.idempotent === 'key' &&
    request.get('idempotency-key') !== undefined
  );
}

function readInTurn({ read }: Context, turn: Turn): Context['read'] {
  return (work, isCostly = false) => (isCostly ? turn.costly(() => read(work)) : read(work));
}

function storingResult(context: Context, claim: Claim): Context['write'] {
  return (work) =>
    context.write(async (unit) => {
      const result = await work(unit);
      const { status, headers = {}, body } = result as Partial<StoredResponse>;
      if (status === undefined)
        throw new Error(`${context.operation.id} accepts an Idempotency-Key: its write must return its result.`);
      await claim.store(unit.transaction, { status, headers, body });
      return result;
    });
}

function handlerOf(operation: Operation): AnyHandler {
  return handlers[operation.id] as AnyHandler;
}

/** Whether the caller already has the current representation, by its `If-None-Match`. */
function isNotModified(
  operation: Operation,
  { status, headers }: HandlerResult,
  ifNoneMatch: string | undefined,
): boolean {
  const tag = headers?.ETag;
  return status === 200 && tag !== undefined && operation.statuses.includes(304) && hasTag(ifNoneMatch, tag);
}

function mediaType(status: number): string {
  return status >= 400 ? 'application/problem+json' : 'application/json';
}

function send(response: Response, result: HandlerResult, headers: Readonly<Record<string, string>>): void {
  const common = { ...dataHeaders, ...headers, ...result.headers };
  if (result.status === 304) return void response.writeHead(304, common).end();
  const body = JSON.stringify(result.body);
  // Not `json`: it would also compare ETags, and return 304 where the contract does not declare it.
  response.writeHead(result.status, {
    ...common,
    'Content-Type': `${mediaType(result.status)}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}
