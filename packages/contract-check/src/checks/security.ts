import type { Operation } from '../document/operation.ts';
import type { CheckName } from '../finding/rules.ts';
import type { Call, Exchange } from '../http/call.ts';
import { isObject, jsonText, parsedJson } from '../json.ts';
import { itemErrorsIn } from '../judge/outcome.ts';
import type { Identity } from '../run/identities.ts';
import type { KnownRequest } from '../run/known-requests.ts';
import { isCreating } from '../run/names.ts';
import { atEveryDepth, renewed } from '../run/renewal.ts';
import type { Session } from '../run/session.ts';
import { type CheckContext, differ, observe } from './observe.ts';
import { exactly, lacking, unguarded } from './scopes.ts';

/** Checks that requests without valid credentials or permissions are rejected, and that those with them are allowed. */
export async function checkCredentials(
  { session, requests }: CheckContext,
  operation: Operation,
  { call }: KnownRequest,
): Promise<void> {
  const { security } = operation;
  const { identities } = session;
  if (security.length === 0 || security.some((alternative) => Object.keys(alternative).length === 0)) return;
  for (const { check, who, identity, ...sent } of attempts(session, operation)) {
    let first: Exchange | undefined;
    await observe(session, operation, async function* (turn) {
      // What exists already would be rejected for that.
      const fresh = isCreating(operation) ? renewed(session, call, `${who} ${turn}`, atEveryDepth) : call;
      const send = (one: Call) =>
        session.send({ ...one, raw: { ...one.raw, headers: {}, keys: {}, ...sent } }, { identity });
      // The state of what an action is about is judged after permissions, so another state is needed.
      const exchange = await requests.elsewhere(fresh, await send(fresh), `${who} ${turn}`, send);
      // A deleted resource cannot be deleted again.
      const isGone = operation.method === 'DELETE' && [404, 409, 410].includes(exchange.response.status);
      const served = isServed(exchange) ? exchange : isGone ? first : undefined;
      first ??= served;
      if (served) yield differ(check, operation, who, factsOf(session, operation, served));
    });
    // Whoever needs no credentials can send wrong ones.
    if (first !== undefined && (operation.method === 'DELETE' || identity === 'anonymous')) return;
  }
  // What declares neither a scope nor 403 is for everybody who is signed in.
  const mayForbid = operation.responses.some(({ status }) => /^(?:403|4XX|default)$/i.test(status));
  const isForAll = operation.method === 'GET' && !mayForbid && lacking(session, operation).length === 0;
  const identity = isForAll && identities.can('forbidden') ? 'forbidden' : exactly(session, operation);
  if (identity !== undefined)
    await observe(session, operation, async function* () {
      const exchange = await session.send({ ...call, body: unguarded(session, operation, call.body) }, { identity });
      const isRejected = ({ response: { status } }: Exchange) => status === 403 || (status === 401 && !isForAll);
      // The state of a resource can forbid it for everybody.
      if (isRejected(exchange) && !isRejected(await session.send(call)))
        yield differ('permission-rejected', operation, '', {
          ...factsOf(session, operation, exchange),
          ...(isForAll && { expected: 'success, because neither a scope nor 403 is declared' }),
        });
    });
}

function factsOf({ document }: Session, { node }: Operation, exchange: Exchange) {
  const place = document.placeOf(node, node.security === undefined ? undefined : 'security');
  return { place: place ?? document.placeOf(document.root, 'security'), exchanges: [exchange] };
}

/** Whether the caller was authorized, even if the request then failed for another reason. */
function isServed(exchange: Exchange): boolean {
  const { status } = exchange.response;
  const isRejected = /forbid|denied|unauthori[sz]ed|permission|not allowed|credential/i;
  return status >= 200 && status < 400 && !isRejected.test(jsonText(itemErrorsIn(exchange)));
}

interface Attempt {
  readonly check: CheckName;
  readonly who: string;
  readonly identity: Identity;
  readonly headers?: Readonly<Record<string, string>>;
  readonly keys?: Readonly<Record<string, string>>;
}

function attempts(session: Session, operation: Operation): Attempt[] {
  const { identities } = session;
  // All credentials are forged together: with alternatives, one valid credential is sufficient.
  const credentials = identities.credentialsFor(operation);
  const forged = Object.entries(forgeries).flatMap(([who, forge]): Attempt[] => {
    const forgedIn = (values: Readonly<Record<string, string>>) =>
      Object.entries(values).flatMap(([name, value]) => {
        const [, scheme = '', secret = ''] = /^(\S+ )?(.*)$/s.exec(value) ?? [];
        const text = forge(secret, scheme);
        return text === undefined ? [] : [[name, text] as const];
      });
    const [headers, keys] = [forgedIn(credentials.headers), forgedIn(credentials.keys)];
    const all = { ...credentials.headers, ...credentials.keys };
    if (headers.length + keys.length === 0 || headers.length + keys.length < Object.keys(all).length) return [];
    const sent = { headers: Object.fromEntries(headers), keys: Object.fromEntries(keys) };
    return [{ check: 'forged-credentials', who, identity: 'caller', ...sent }];
  });
  const expired: Attempt = { check: 'expired-credentials', who: 'with expired credentials', identity: 'expired' };
  return [
    { check: 'missing-credentials', who: 'without credentials', identity: 'anonymous' },
    ...forged,
    ...(identities.can('expired') ? [expired] : []),
    ...lacking(session, operation).map((one): Attempt => ({ check: 'missing-permission', ...one })),
  ];
}

/** Ways to forge a secret and its scheme, which is empty for a key; undefined if one does not apply. */
const forgeries: Readonly<Record<string, (secret: string, scheme: string) => string | undefined>> = {
  'with a forged credential': (secret, scheme) => `${scheme}${changedAt(secret)}`,
  'with a malformed credential': (_secret, scheme) => `${scheme}not-a-credential`,
  'with a credential under another scheme': (secret, scheme) =>
    scheme === '' ? undefined : `${/^basic/i.test(scheme) ? 'Bearer' : 'Basic'} ${secret}`,
  'with an unsigned token': (secret, scheme) => {
    const unsigned = withoutSignature(secret);
    return unsigned && `${scheme}${unsigned}`;
  },
};

/** Changes a character of the signature of a token, but not the last one, of which some bits are ignored. */
function changedAt(secret: string): string {
  const index = Math.floor(secret.length * 0.85);
  return `${secret.slice(0, index)}${secret[index] === 'A' ? 'B' : 'A'}${secret.slice(index + 1)}`;
}

/** The token with `alg: none` (RFC 8725, 3.1): valid claims without a signature. */
function withoutSignature(token: string): string | undefined {
  const [head, claims, ...rest] = token.split('.');
  const header = parsedJson(Buffer.from(head ?? '', 'base64url').toString())?.value;
  if (rest.length !== 1 || !isObject(header)) return undefined;
  return `${Buffer.from(JSON.stringify({ ...header, alg: 'none' })).toString('base64url')}.${claims}.`;
}
