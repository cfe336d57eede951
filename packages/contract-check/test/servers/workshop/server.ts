import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type Contract, type Operation, readContract } from '../kit/contract.ts';
import { type Rejection, rejection } from '../kit/rejection.ts';
import { type Options, type Request, type Result, type Started, serve } from '../kit/serve.ts';
import { jobHandlers } from './jobs.ts';
import { findBoxes } from './places.ts';
import { counter, emptyWorkshop, sampleWorkshop, type Workshop } from './store.ts';
import { type Caller, toolHandlers } from './tools.ts';

const specification = fileURLToPath(new URL('openapi.yaml', import.meta.url));
const titles: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Not signed in',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  412: 'Precondition failed',
  413: 'Too large',
  415: 'Unsupported media type',
  422: 'Unprocessable',
  428: 'Precondition required',
};

interface Token {
  readonly scopes: readonly string[];
  readonly workshop: Workshop;
  readonly expired?: true;
}

let contract: Promise<Contract> | undefined;

/** Starts a separate workshop that follows its contract exactly. `alter` can change its behavior. */
export async function start(options: Options = {}): Promise<Started> {
  contract ??= readContract(specification);
  const nextId = counter();
  const workshop = sampleWorkshop(nextId);
  const all = ['read', 'write'];
  const tokens = new Map<string, Token>([
    ['caller-token', { scopes: all, workshop }],
    ['expired-token', { scopes: all, workshop, expired: true }],
    ['powerless-token', { scopes: [], workshop }],
    ['stranger-token', { scopes: all, workshop: emptyWorkshop() }],
  ]);
  const running = await serve<Caller>(
    {
      contract: await contract,
      handlers: {
        ...toolHandlers(nextId),
        ...jobHandlers(nextId),
        findBoxes,
        getHealth: () => ({ status: 200, body: { status: 'ok' } }),
      },
      authenticate: (operation, request) => ({ workshop: admit(operation, request, tokens, workshop) }),
      reject,
      headers: () => ({ 'x-request-id': randomUUID() }),
      invalid: 422,
    },
    options,
  );
  const as = (token: string) => () => ({ authorization: `Bearer ${token}` });
  return {
    ...running,
    specification,
    auth: {
      caller: as('caller-token'),
      expired: as('expired-token'),
      forbidden: as('powerless-token'),
      otherTenant: as('stranger-token'),
    },
  };
}

/** @throws Rejection with 401 or 403 */
function admit(
  operation: Operation,
  request: Request,
  tokens: ReadonlyMap<string, Token>,
  workshop: Workshop,
): Workshop {
  if (operation.security.length === 0) return workshop;
  const { authorization } = request.headers;
  if (authorization === undefined) return admitKey(operation, request, workshop);
  const token = tokens.get(/^bearer +(\S+)$/i.exec(authorization)?.[1] ?? '');
  if (token === undefined || token.expired === true) throw unauthorized('the token is not known, or has run out');
  const scopes = operation.security.flatMap(({ bearer }) => bearer ?? []);
  if (!scopes.every((scope) => token.scopes.includes(scope)))
    throw rejection(403, `it requires the scope ${scopes.join(' and ')}`);
  return token.workshop;
}

function admitKey(operation: Operation, request: Request, workshop: Workshop): Workshop {
  const key = request.headers['x-api-key'];
  if (key !== undefined && key !== 'device-key') throw unauthorized('the key is not known');
  if (key === undefined) throw unauthorized('the request has no valid credentials');
  if (operation.security.every(({ key: accepted }) => accepted === undefined))
    throw rejection(403, 'a device may only read');
  return workshop;
}

function unauthorized(detail: string): Rejection {
  return rejection(401, detail, { 'www-authenticate': 'Bearer realm="workshop"' });
}

/** The response to HEAD has no body that could explain a rejection. */
function reject({ status, message, pointer }: Rejection, operation: Operation | undefined): Result {
  if (operation?.method === 'HEAD') return { status };
  const title = titles[status] ?? 'Refused';
  const problem = { type: 'about:blank', title, status, detail: message };
  return {
    status,
    mediaType: 'application/problem+json',
    body: pointer === undefined ? problem : { ...problem, pointer },
  };
}
