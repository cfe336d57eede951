import { isFailedAttempt } from '../admission/failure-limit.ts';
import { largeBody } from '../contract/bulk.ts';
import { type Choice, choiceOf, withFields } from '../contract/choices.ts';
import { allOperations, type Operation } from '../contract/contract.ts';
import { CsvFile } from '../contract/csv.ts';
import { invalid } from '../contract/problem.ts';
import { Rejection } from '../contract/rejection.ts';
import { ResponseFile } from '../contract/response-file.ts';
import { authorize, isPublic } from '../contract/roles.ts';
import { findingsOfToday, rowsBeyondBounds } from '../contract/row-findings.ts';
import { findUnstorable } from '../contract/unstorable.ts';
import type { Context } from '../entity/context.ts';
import type { Service } from '../entity/service.ts';
import { readerOf } from '../query/handlers.ts';
import { withRelated } from '../query/related-rows.ts';
import { checkRequest } from '../wire/check-request.ts';
import { deprecationHeaders } from '../wire/deprecation.ts';
import type { Exchange } from '../wire/exchange.ts';
import { checkAccept, hasTag } from '../wire/headers.ts';
import { checkHeaders, cleanParameters, jsonBody } from '../wire/input.ts';
import { fileResult, type JsonResult, jsonType, problemResult, type RouteResult } from '../wire/result.ts';
import type { Route } from '../wire/route.ts';
import { toRejection, type WriteProgress } from './failure.ts';
import { KeyedRequest, type StoredResponse } from './idempotency.ts';
import { type HandlerInput, type HandlerResult, handlerOf, weighed } from './run-operation.ts';
import { openContext, signIn } from './sign-in.ts';

/** A route for each operation of the contract. */
export function operationRoutes(service: Service): readonly Route[] {
  return allOperations.map((operation) => {
    const deprecation = deprecationHeaders(operation);
    return {
      name: operation.id,
      path: operation.path,
      methods: operation.method === 'GET' ? ['GET', 'HEAD'] : [operation.method],
      // Not of the path: another method may not be deprecated.
      headers: {},
      isRecorded: true,
      handle(exchange, path) {
        Object.assign(exchange.headers, deprecation);
        return call(service, operation, exchange, path);
      },
      checked: (result, exchange) => checkResult(service, operation, result, exchange),
    };
  });
}

/** The steps of an operation, in order. */
async function call(
  service: Service,
  operation: Operation,
  exchange: Exchange,
  parameters: Readonly<Record<string, string>>,
): Promise<RouteResult> {
  const { address } = exchange;
  const isOpen = isPublic(operation);
  let progress: WriteProgress = 'no changes';
  try {
    checkAccept(exchange.header('accept'), exchange.query.format !== undefined || operation.path.endsWith('{format}'));
    checkHeaders(operation, exchange);
    const open = openContext(service, operation, exchange);
    if (isOpen) service.admission.failureLimit.checkBody(address);
    const ifMatch = exchange.header('if-match');
    const isRehearsal = rehearses(exchange);
    const authorization = exchange.header('authorization');
    const context = isOpen ? open : await signIn(open, { authorization, ifMatch, isRehearsal });
    exchange.step('Caller authenticated.', { apiUser: context.caller?.apiUserId });
    // A request without a caller has no user to limit yet: the operation applies the limit once it has verified the key.
    if (context.caller !== undefined) {
      exchange.tenant = context.tenant.name;
      exchange.user = context.caller.apiUserName;
      const limited = `${context.tenant.id}/${context.caller.apiUserId}`;
      Object.assign(exchange.headers, await service.admission.rateLimit.take(operation, limited));
      authorize(operation, context.caller.roles);
    }
    const tenant = exchange.tenant ?? '';
    const user = context.caller?.apiUserId ?? address;
    const unread = operation.bodyLimit === null ? undefined : jsonBody(operation.bodyLimit, operation.lines, exchange);
    const admitted = await service.admission.admit(exchange, tenant, user, unread);
    exchange.step('Request admitted.', { bytes: admitted.bytes?.length });
    const { bytes } = admitted;
    const path = cleanParameters('path', parameters);
    const query = cleanParameters('query', exchange.query);
    const raw = { path, query, headers: exchange.requestHeaders, bytes };
    const isLarge = bytes !== undefined && bytes.length >= largeBody;
    const checked = isLarge
      ? await service.largeBodyChecks.check(operation, raw, tenant, user)
      : checkRequest(service.validator, operation, raw);
    exchange.step('Request validated.');
    const input = { ...checked, path };
    const onProgress = (reached: WriteProgress) => {
      if (!isRehearsal && progress !== 'changes committed') progress = reached;
    };
    const inTurn =
      context.caller === undefined ? context : observed(weighed(context, admitted, checked.body), exchange, onProgress);
    const key = isRehearsal ? undefined : exchange.header('idempotency-key');
    const result = await (inTurn.caller !== undefined && key !== undefined
      ? handleOnce(service, inTurn, key, input)
      : handlerOf(operation)(inTurn, input));
    exchange.step('Operation handled.', { status: result.status });
    const { status, headers, body } = result;
    if (body instanceof CsvFile || body instanceof ResponseFile) return fileResult(body, headers);
    const choice = choiceOf(operation, input);
    return choice === undefined || inTurn.caller === undefined
      ? { kind: 'json', status, headers, body }
      : await chosenResult(inTurn, choice, result);
  } catch (error) {
    const problem = toRejection(error, exchange.log, progress);
    const hasFailed = isOpen ? isFailedAttempt(problem) : problem.code === 'UNAUTHENTICATED';
    if (hasFailed) service.admission.failureLimit.count(address);
    throw problem;
  }
}

/** A result with what the caller chose to read. Names of other rows change without a new version, so that with them it has no tag. */
async function chosenResult(context: Context, choice: Choice, result: HandlerResult): Promise<JsonResult> {
  const { status, headers, body } = result;
  const { fields, with: names } = choice;
  if (names === undefined) return { kind: 'json', status, headers, body, fields };
  const { ETag: _, ...others } = headers ?? {};
  const complete = await context.read((session) =>
    withRelated(session, readerOf(context), context.operation, names, Object(body)),
  );
  return { kind: 'json', status, headers: others, body: complete, fields };
}

/** The context of a request whose transactions are steps. */
function observed(context: Context, exchange: Exchange, onProgress: (reached: WriteProgress) => void): Context {
  return {
    ...context,
    read: async (work, isCostly) => {
      const result = await context.read(work, isCostly);
      exchange.step('Read from the database.');
      return result;
    },
    write: async (work) => {
      onProgress('changes begun');
      const result = await context.write(work);
      onProgress('changes committed');
      exchange.step('Transaction committed.');
      return result;
    },
  };
}

/** Whether the request is a rehearsal. The response says so, also a problem. The contract checks the value of the header. */
function rehearses(exchange: Exchange): boolean {
  const value = exchange.header('dry-run');
  if (value === 'true') exchange.headers['Dry-Run'] = 'true';
  return value !== undefined && value !== 'false';
}

/** Runs a handler under an `Idempotency-Key`, or returns the response to the first request with it. */
async function handleOnce(
  service: Service,
  context: Context,
  key: string,
  input: HandlerInput,
): Promise<HandlerResult> {
  // The key is stored with a hash of the input, and values that cannot be stored cannot be hashed.
  const unstorable = findUnstorable(input.body);
  if (unstorable !== undefined) throw invalid(unstorable.pointer, 'UNSTORABLE', unstorable.detail);
  const request = new KeyedRequest(service, context, context.operation, key, input);
  const write: Context['write'] = (work) => context.write((unit) => request.once(unit.transaction, () => work(unit)));
  const before = await request.firstResponse();
  if (before !== undefined) return replayed(before);
  try {
    return await handlerOf(context.operation)({ ...context, write }, input);
  } catch (error) {
    // The first request may have ended meanwhile, and its own changes may be what this one was rejected for.
    const first = error instanceof Rejection ? await request.firstResponse() : undefined;
    if (first === undefined) throw error;
    return replayed(first);
  }
}

const replayedHeader = 'Idempotency-Replayed';

function replayed(response: StoredResponse): HandlerResult {
  return { ...response, headers: { ...response.headers, [replayedHeader]: 'true' } };
}

/**
 * Replaces a response that violates the contract with an `INTERNAL_ERROR` problem, and logs the findings. If stored values
 * only exceed a bound, or were valid when they were stored, it is sent: one row must not prevent the others from being read.
 * A response that the caller already has becomes a 304.
 */
function checkResult(
  { config, validator, metrics }: Service,
  operation: Operation,
  result: RouteResult,
  exchange: Exchange,
): RouteResult {
  if (result.kind !== 'json') return result;
  const { status, body } = result;
  const isProblem = status >= 400;
  const isChecked = isProblem || Math.random() < config.responseValidation;
  const findings = isChecked ? validator.response(operation, status, jsonType(status), body) : [];
  if (findings.length === 0) return withoutKnown(operation, inPart(result), exchange);
  const ofToday = findingsOfToday(findings, operation, result.headers?.[replayedHeader] !== undefined);
  if (ofToday.length < findings.length)
    exchange.log.error({ operation: operation.id, findings }, 'Stored values violate the contract; sent as stored.');
  const rows = isProblem ? undefined : rowsBeyondBounds(ofToday, body);
  const outcome = rows === undefined ? 'withheld' : 'sent';
  metrics.invalidResponses.inc({ operation: operation.id, outcome });
  if (rows !== undefined) {
    for (const row of rows)
      exchange.log.error({ operation: operation.id, ...row }, 'Row exceeds a bound of the contract; sent as stored.');
    return withoutKnown(operation, inPart(result), exchange);
  }
  exchange.log.error({ operation: operation.id, status, findings }, 'Response violates the contract; not sent.');
  const detail = 'The response would have violated the contract. Report the requestId to support.';
  return problemResult(new Rejection('INTERNAL_ERROR', detail), exchange.id);
}

/** The fields that the caller chose. */
function inPart(result: JsonResult): JsonResult {
  return result.fields === undefined ? result : { ...result, body: withFields(Object(result.body), result.fields) };
}

/** Returns 304 instead if the caller already has the current representation, by its `If-None-Match`. */
function withoutKnown(operation: Operation, result: JsonResult, exchange: Exchange): JsonResult {
  const tag = result.headers?.ETag;
  if (result.status !== 200 || tag === undefined || !operation.statuses.includes(304)) return result;
  return hasTag(exchange.header('if-none-match'), tag) ? { ...result, status: 304 } : result;
}
