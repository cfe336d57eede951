import type { Operation } from '../document/operation.ts';
import { type Candidate, candidateOf, responseText } from '../finding/finding.ts';
import type { CheckName } from '../finding/rules.ts';
import type { Call, Exchange } from '../http/call.ts';
import { isObject, parsedJson } from '../json.ts';
import { itemErrorsIn } from '../judge/outcome.ts';
import type { Identity } from '../run/identities.ts';
import type { KnownRequest } from '../run/known-requests.ts';
import { isCreating } from '../run/names.ts';
import { atEveryDepth, renewed } from '../run/renewal.ts';
import type { Session } from '../run/session.ts';
import type { CheckContext } from './check.ts';
import { exactly, lacking, unguarded } from './scopes.ts';

/** Checks that requests without valid credentials or permissions are rejected. */
export async function checkCredentials(
  { session }: CheckContext,
  operation: Operation,
  known: KnownRequest,
): Promise<void> {
  if (!needsCredentials(operation)) return;
  for (const attempt of attempts(session, operation)) {
    if (session.isOver) return;
    const send = (turn: string) => {
      const call = fresh(session, known.call, `${attempt.who} ${turn}`);
      const raw = { ...call.raw, headers: attempt.headers, keys: attempt.keys ?? {} };
      return session.send({ ...call, raw }, { identity: attempt.identity });
    };
    const exchange = await send('first');
    if (!isServed(exchange)) continue;
    await session.report(finding(session, operation, attempt, exchange), [exchange], async () => {
      const again = await send('again');
      if (isServed(again)) return [again];
      // A deleted resource cannot be deleted again.
      return operation.method === 'DELETE' && [404, 409, 410].includes(again.response.status) ? [exchange] : undefined;
    });
    // Whoever needs no credentials can send wrong ones.
    if (operation.method === 'DELETE' || attempt.identity === 'anonymous') return;
  }
  await checkAdmission(session, operation, known);
}

/** The call, with other texts if it creates: what exists already would be rejected for that. */
function fresh(session: Session, call: Call, label: string): Call {
  return isCreating(call.operation) ? renewed(session, call, label, atEveryDepth) : call;
}

/** Whether a user with exactly the declared scopes is allowed. */
async function checkAdmission(session: Session, operation: Operation, { call }: KnownRequest): Promise<void> {
  const identity = exactly(session, operation);
  if (identity === undefined || session.isOver) return;
  const send = () => session.send({ ...call, body: unguarded(session, operation, call.body) }, { identity });
  const rejected = ({ response }: Exchange) => response.status === 401 || response.status === 403;
  const exchange = await send();
  if (!rejected(exchange)) return;
  const attempt: Attempt = { check: 'permission-rejected', who: '', identity, headers: {} };
  await session.report(finding(session, operation, attempt, exchange), [exchange], async () => {
    const again = await send();
    return rejected(again) ? [again] : undefined;
  });
}

/** Whether the caller was authorized, even if the request then failed for another reason. */
function isServed(exchange: Exchange): boolean {
  const { status } = exchange.response;
  const errors = JSON.stringify(itemErrorsIn(exchange));
  return (
    status >= 200 && status < 400 && !/forbid|denied|unauthori[sz]ed|permission|not allowed|credential/i.test(errors)
  );
}

interface Attempt {
  readonly check: CheckName;
  readonly who: string;
  readonly identity: Identity;
  readonly headers: Readonly<Record<string, string>>;
  /** In the query. */
  readonly keys?: Readonly<Record<string, string>>;
}

function needsCredentials({ security }: Operation): boolean {
  return security.length > 0 && security.every((alternative) => Object.keys(alternative).length > 0);
}

function attempts(session: Session, operation: Operation): Attempt[] {
  const anonymous: Attempt = {
    check: 'missing-credentials',
    who: 'without credentials',
    identity: 'anonymous',
    headers: {},
  };
  // All credentials are forged together: with alternatives, one valid credential is sufficient.
  const credentials = session.identities.credentialsFor(operation);
  const forged = Object.entries(forgeries).flatMap(([who, forge]): Attempt[] => {
    const forgedIn = (values: Readonly<Record<string, string>>) =>
      Object.entries(values).map(([name, value]) => {
        const [, scheme = '', secret = ''] = /^(\S+ )?(.*)$/s.exec(value) ?? [];
        return [name, forge(secret, scheme)] as const;
      });
    const [headers, keys] = [forgedIn(credentials.headers), forgedIn(credentials.keys)];
    const all = [...headers, ...keys];
    if (all.length === 0 || all.some(([, text]) => text === undefined)) return [];
    const [sent, inQuery] = [headers, keys].map((pairs) => Object.fromEntries(pairs) as Record<string, string>);
    return [{ check: 'forged-credentials', who, identity: 'caller', headers: sent ?? {}, keys: inQuery ?? {} }];
  });
  const others: Attempt[] = [
    { check: 'expired-credentials', who: 'with expired credentials', identity: 'expired', headers: {} },
    { check: 'missing-permission', who: 'without the required role or scope', identity: 'forbidden', headers: {} },
  ];
  const isPossible = ({ identity }: Attempt) =>
    session.identities.can(identity) && (identity !== 'forbidden' || needsRights(operation));
  const scoped = lacking(session, operation).map(
    (one): Attempt => ({ check: 'missing-permission', ...one, headers: {} }),
  );
  return [anonymous, ...forged, ...others.filter(isPossible), ...scoped];
}

/** Whether the contract requires a permission: a scope, or a declared 403. */
function needsRights(operation: Operation): boolean {
  const hasScopes = operation.security.some((alternative) =>
    Object.values(alternative).some((scopes) => scopes.length > 0),
  );
  return hasScopes || operation.responses.some(({ status }) => status === '403');
}

/** Ways to forge a secret and its scheme, which is empty for a key; undefined if one does not apply. */
const forgeries: Readonly<Record<string, (secret: string, scheme: string) => string | undefined>> = {
  'with a forged credential': (secret, scheme) => `${scheme}${changedAt(secret)}`,
  'with a malformed credential': (_secret, scheme) => `${scheme}not-a-credential`,
  'with a credential under another scheme': (secret, scheme) =>
    scheme === '' ? undefined : `${/^basic/i.test(scheme) ? 'Bearer' : 'Basic'} ${secret}`,
  'with an unsigned token': (secret, scheme) => {
    const unsigned = withoutSignature(secret);
    return unsigned === undefined ? undefined : `${scheme}${unsigned}`;
  },
};

/** Changes a character of the signature of a token, but not the last one, of which some bits are ignored. */
function changedAt(secret: string): string {
  const index = Math.floor(secret.length * 0.85);
  return `${secret.slice(0, index)}${secret[index] === 'A' ? 'B' : 'A'}${secret.slice(index + 1)}`;
}

/** The token with `alg: none` (RFC 8725, 3.1): valid claims without a signature. */
function withoutSignature(token: string): string | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  const header = parsedJson(Buffer.from(parts[0] ?? '', 'base64url').toString())?.value;
  if (!isObject(header)) return undefined;
  return `${Buffer.from(JSON.stringify({ ...header, alg: 'none' })).toString('base64url')}.${parts[1]}.`;
}

function finding({ document }: Session, operation: Operation, attempt: Attempt, exchange: Exchange): Candidate {
  const isOwn = operation.node.security !== undefined;
  return candidateOf(attempt.check, operation, attempt.who, {
    actual: responseText(exchange),
    place:
      document.placeOf(operation.node, isOwn ? 'security' : undefined) ?? document.placeOf(document.root, 'security'),
  });
}
