import type { RequestListener } from 'node:http';
import express, { type Request, type Response } from 'express';
import { v7 as uuidv7 } from 'uuid';
import { authorize, checkRoles, isPublic } from './auth/roles.ts';
import type { Context, PublicContext } from './context.ts';
import type { Operation } from './contract/contract.ts';
import { toProblem } from './failure.ts';
import { problemOf } from './http/findings.ts';
import { checkAccept } from './http/headers.ts';
import { type Claim, claimKey, isKept, type KeptAnswer } from './http/idempotency.ts';
import { bodyReader, cleanParameters } from './http/input.ts';
import { Problem, problemDocument } from './http/problem.ts';
import { createRouter } from './http/router.ts';
import { outside } from './outside.ts';
import { type AnyHandler, handlers } from './resources/handlers.ts';
import type { Service } from './service.ts';
import { type Credentials, signIn } from './sign-in.ts';

/** An answer on its way out. */
interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: unknown;
}

/**
 * The service over HTTP: the way of a request, in order. This is the only place that knows requests and responses; every
 * step works on values, and a step that refuses throws a `Problem`.
 *
 * @throws Error at start where an operation of the contract names no role.
 */
export function createApp(service: Service): RequestListener {
  checkRoles();
  const findRoute = createRouter();
  const readBody = bodyReader();
  const app = express();
  app.disable('x-powered-by');
  // Answers carry the version of the row as their ETag; one made from bytes would be another.
  app.disable('etag');
  app.set('trust proxy', service.config.trustProxy);
  app.use(outside(service));
  app.use((request, response) => answer(request, response));
  return (request, response) =>
    app(request as Request, response as Response, (error) => last(response as Response, error));

  async function answer(request: Request, response: Response): Promise<void> {
    const started = process.hrtime.bigint();
    const requestId = uuidv7();
    const traceparent = request.get('traceparent');
    // Made when somebody has something to say: most requests end with the one line below.
    const log = once(() => service.log.child({ requestId, ...(traceparent === undefined ? {} : { traceparent }) }));
    const headers: Record<string, string> = { 'X-Request-Id': requestId };
    let operation: Operation | undefined;
    let outcome: Answer;
    try {
      const route = findRoute(request.method, request.path);
      operation = route.operation;
      checkAccept(request.get('accept'));

      const open: PublicContext = { service, operation, requestId, tenantName: request.get('tenant') };
      const context: PublicContext | Context = isPublic(operation) ? open : await signIn(open, credentials(request));
      const who =
        context.caller === undefined ? (request.ip ?? '') : `${context.tenant.id}/${context.caller.apiUserId}`;
      Object.assign(headers, await service.rateLimit.take(operation, who));
      if (context.caller !== undefined) authorize(operation, context.caller.roles);

      const body = await readBody(operation, request, response);
      const path = cleanParameters('path', route.path);
      const query = cleanParameters('query', request.query);
      const checked = await service.validator.request(operation, { path, query, headers: request.headers, body });
      if (checked.findings.length > 0) throw problemOf(operation, checked.findings, body);

      const input = { path, query: checked.query, body };
      outcome = await (isKeyed(context, request)
        ? onlyOnce(context, request.get('idempotency-key') ?? '', input)
        : handlerOf(operation)(context, input));
    } catch (error) {
      const problem = toProblem(error, log());
      Object.assign(headers, problem.headers);
      outcome = { status: problem.status, body: problemDocument(problem, requestId) };
    }
    if (operation !== undefined) outcome = await checkAnswer(operation, outcome, requestId, log);
    send(response, outcome, headers);

    const seconds = Number(process.hrtime.bigint() - started) / 1e9;
    service.metrics.answered(operation?.id ?? 'none', outcome.status, seconds);
    service.log.info({
      requestId,
      ...(traceparent === undefined ? {} : { traceparent }),
      operation: operation?.id,
      method: request.method,
      status: outcome.status,
      milliseconds: Math.round(seconds * 1e5) / 100,
    });
  }

  /** What no step has answered: a request for something that is no path, or a fault of the steps themselves. */
  function last(response: Response, error: unknown): void {
    if (response.headersSent) return void response.destroy();
    const problem =
      error === undefined
        ? new Problem('NOT_FOUND', 'There is nothing at this address.')
        : toProblem(error, service.log);
    send(response, { status: problem.status, headers: problem.headers, body: problemDocument(problem, uuidv7()) }, {});
  }

  /** Runs a handler under an `Idempotency-Key`: its answer is kept in the transaction that does its work. */
  async function onlyOnce(context: Context, key: string, input: Parameters<AnyHandler>[1]): Promise<Answer> {
    const claim = await claimKey(service.store, context, context.operation, key, input.body);
    if (isKept(claim)) return { ...claim, headers: { ...claim.headers, 'Idempotency-Replayed': 'true' } };
    try {
      return await handlerOf(context.operation)({ ...context, write: keeping(context, claim) }, input);
    } catch (error) {
      await claim.release();
      throw error;
    }
  }

  /** In an answer that breaks the contract, the caller hears of our fault instead; we hear of it loudly. */
  async function checkAnswer(
    operation: Operation,
    outcome: Answer,
    requestId: string,
    log: () => Service['log'],
  ): Promise<Answer> {
    const isProblem = outcome.status >= 400;
    if (!isProblem && Math.random() >= service.config.answerValidation) return outcome;
    // The one status that need not be declared: the handler is still to be written.
    if (outcome.status === 501) return outcome;
    const findings = await service.validator.answer(operation, outcome.status, mediaType(outcome.status), outcome.body);
    if (findings.length === 0) return outcome;
    service.metrics.wrongAnswers.inc({ operation: operation.id, status: outcome.status });
    log().error(
      { operation: operation.id, status: outcome.status, findings },
      'An answer breaks the contract and was not sent.',
    );
    const fault = new Problem(
      'INTERNAL_ERROR',
      'The answer would have broken the contract. Give the request id to support.',
    );
    return { status: fault.status, body: problemDocument(fault, requestId) };
  }
}

/** What is made the first time that it is asked for. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
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

function keeping(context: Context, claim: Claim): Context['write'] {
  return (work) =>
    context.write(async (unit) => {
      const result = await work(unit);
      const { status, headers = {}, body } = result as Partial<KeptAnswer>;
      if (status === undefined)
        throw new Error(`${context.operation.id} takes an Idempotency-Key: its write must return its result.`);
      await claim.keep(unit.transaction, { status, headers, body });
      return result;
    });
}

function handlerOf(operation: Operation): AnyHandler {
  return handlers[operation.id] as AnyHandler;
}

function mediaType(status: number): string {
  return status >= 400 ? 'application/problem+json' : 'application/json';
}

function send(response: Response, answer: Answer, headers: Readonly<Record<string, string>>): void {
  const body = JSON.stringify(answer.body);
  // Not `json`: it would answer 304 to `If-None-Match`, which the contract does not declare.
  response.writeHead(answer.status, {
    ...headers,
    ...answer.headers,
    'Content-Type': `${mediaType(answer.status)}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}
