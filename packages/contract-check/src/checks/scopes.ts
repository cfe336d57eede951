import { extensionOf, type Operation } from '../document/operation.ts';
import { isObject, type JsonObject, textsIn } from '../json.ts';
import type { Identity } from '../run/identities.ts';
import type { Session } from '../run/session.ts';
import { View } from '../schema/view.ts';

/** Users with some scopes or roles, as `security` names them: those of an operation, and all but one of them. */

/** The alternatives of scopes that an operation requires; undefined if it requires none. */
function alternativesOf({ security }: Operation): string[][] | undefined {
  const all = security.map((alternative) => [...new Set(Object.values(alternative).flat())]);
  return all.length === 0 || all.some((scopes) => scopes.length === 0) ? undefined : all;
}

/** A property that only users with some scopes may read or write. */
export interface Guarded {
  readonly name: string;
  readonly read: readonly string[];
  readonly write: readonly string[];
}

export function guardedIn(view: View): Guarded[] {
  return view.names.flatMap((name) => {
    const all = (member: string) => view.member(name).parts.flatMap((part) => textsIn(extensionOf(part)[member]));
    const [read, write] = [all('readScopes'), all('writeScopes')];
    return read.length + write.length === 0 ? [] : [{ name, read, write }];
  });
}

function scopesIn({ document, declared }: Session): Set<string> {
  const views = declared.flatMap((one) => [View.ofRequest(document, one), View.ofResponse(document, one)]);
  const guarded = views.flatMap(guardedIn).flatMap(({ read, write }) => [...read, ...write]);
  return new Set([...declared.flatMap((one) => alternativesOf(one) ?? []).flat(), ...guarded]);
}

export function withScopes(scopes: Iterable<string>): Identity {
  return `scopes ${[...new Set(scopes)].join(' ')}`;
}

/** A user with the scopes of the first alternative of an operation, and no others. */
export function exactly(session: Session, operation: Operation, more: readonly string[] = []): Identity | undefined {
  const [own] = alternativesOf(operation) ?? [];
  return own === undefined || !session.identities.can('scopes ') ? undefined : withScopes([...own, ...more]);
}

/** Users that an operation must reject: one without permissions, and those with all scopes but one of each alternative. */
export function lacking(
  session: Session,
  operation: Operation,
): { readonly who: string; readonly identity: Identity }[] {
  const alternatives = alternativesOf(operation);
  const { security, responses } = operation;
  // Without scopes, a declared 403 says that a permission is required.
  const needsRights =
    security.some((one) => Object.values(one).flat().length > 0) || responses.some(({ status }) => status === '403');
  const none: ReturnType<typeof lacking> =
    needsRights && session.identities.can('forbidden')
      ? [{ who: 'without the required role or scope', identity: 'forbidden' }]
      : [];
  if (alternatives === undefined || !session.identities.can('scopes ')) return none;
  const all = scopesIn(session);
  const some = [...new Set(alternatives.flat())].map((scope) => {
    const without = alternatives.map((own) => (own.includes(scope) ? scope : (own[0] ?? scope)));
    const identity = withScopes([...all].filter((one) => !without.includes(one)));
    return { who: `with all scopes but ${[...new Set(without)].join(', ')}`, identity };
  });
  return [...none, ...some];
}

/** A body without what only users with further scopes may write. */
export function unguarded({ document }: Pick<Session, 'document'>, operation: Operation, body: unknown): unknown {
  const names = guardedIn(View.ofRequest(document, operation)).flatMap(({ name, write }) =>
    write.length > 0 ? [name] : [],
  );
  if (!isObject(body) || names.length === 0) return body;
  const kept: [string, unknown][] = Object.entries(body).filter(([name]) => !names.includes(name));
  const within = (value: unknown) => (isObject(value) ? unguarded({ document }, operation, value) : value);
  return Object.fromEntries(kept.map(([name, value]) => [name, within(value)])) satisfies JsonObject;
}
