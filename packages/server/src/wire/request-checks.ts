/**
 * What decides about a request by the contract alone. The mock uses it, so that it rejects the same requests as the service in the
 * same words.
 */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse as parseQuery } from 'node:querystring';
import { allOperations, bundleFiles, type Operation } from '../contract/contract.ts';
import { isPublic } from '../contract/roles.ts';
import { contractValidator } from '../contract/validator.ts';
import { type CheckedRequest, checkRequest } from './check-request.ts';
import { errorPage, errorPath } from './error-page.ts';
import { checkAccept, checkSentOnce, readBearer } from './headers.ts';
import { checkHeaders, cleanParameters, jsonBody } from './input.ts';
import { readRawBody } from './raw-body.ts';
import type { PageResult } from './result.ts';
import { createRouter } from './router.ts';
import { sampleServer } from './sample-server.ts';
import { readTarget } from './target.ts';

export { choiceOf, relationsOf, withFields, withRelatedRows } from '../contract/choices.ts';
export { declarationsOf, referred } from '../contract/parameters.ts';
export { invalid } from '../contract/problem.ts';
export { Rejection } from '../contract/rejection.ts';
export { newId } from '../platform/store/new-id.ts';
export { messages } from './messages.ts';
export { problemResult, type RouteResult, send } from './result.ts';
export { allOperations, type Operation };

/** A request that the service would serve to a caller with every role, if its rows exist. */
export interface AcceptedRequest extends CheckedRequest {
  readonly operation: Operation;
  readonly path: Readonly<Record<string, string>>;
}

const routes = allOperations.map((operation) => ({
  operation,
  path: operation.path,
  methods: operation.method === 'GET' ? ['GET', 'HEAD'] : [operation.method],
  headers: {},
}));
const findRoute = createRouter(routes, 'This path does not exist. See /openapi.json.');

/**
 * The steps of a request that need neither data nor a caller, in the order of the service. Any token is accepted.
 *
 * @throws Rejection
 */
export async function checkByContract(request: IncomingMessage, response: ServerResponse): Promise<AcceptedRequest> {
  const { method = '', url = '', headers, rawHeaders } = request;
  checkSentOnce(rawHeaders);
  const target = readTarget(url);
  const { route, parameters } = findRoute(method, target?.path);
  const { operation } = route;
  const header = (name: string) => headers[name]?.toString();
  checkAccept(header('accept'));
  checkHeaders(operation, { header });
  if (!isPublic(operation)) readBearer(header('authorization'));
  const body = (limit: number) => ({ mayBeLarge: false, read: () => readRawBody(request, response, limit) });
  const bytes =
    operation.bodyLimit === null
      ? undefined
      : await jsonBody(operation.bodyLimit, operation.lines, { header, body }).read();
  const path = cleanParameters('path', parameters);
  const query = cleanParameters('query', parseQuery(target?.query ?? ''));
  const validator = await contractValidator();
  return { operation, path, ...checkRequest(validator, operation, { path, query, headers, bytes }) };
}

/** The documents that need no service: the contract, with the address of the server first, and the page that `type` of a problem points into. */
export async function documentAt(path: string | undefined, address: string): Promise<PageResult | undefined> {
  if (path === errorPath) return errorPage();
  if (path !== '/openapi.json') return undefined;
  const text = (await readFile(bundleFiles.json, 'utf8')).replaceAll(sampleServer, address);
  return { kind: 'page', status: 200, text, type: 'application/json' };
}
