/** Sign-in for people at an identity provider, so that the audit log names a person. */

import { hasRole } from '@financial-automation/spec/roles';
import { checkAccess } from '../../admission/access.ts';
import { createKey } from '../../admission/create-key.ts';
import { schemaOf } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Service } from '../../entity/service.ts';
import type { Claims, IdentityProvider, SignInAttempt } from '../../platform/auth/identity-provider.ts';
import type { Vault } from '../../platform/auth/vault.ts';
import { databaseClock } from '../../platform/database-clock.ts';
import { faultOf } from '../../wire/body.ts';
import { readCookie } from '../../wire/cookies.ts';
import type { Exchange } from '../../wire/exchange.ts';
import type { PageResult } from '../../wire/result.ts';
import type { ConsoleResults } from './results.ts';
import { consoleRole, sessionLasts, startSession } from './session.ts';

const purpose = 'console sign-in attempt';
const cookieName = 'console_attempt';
/** How long a person may take at the provider, in milliseconds. */
const attemptLasts = 600_000;
const maxNameLength = 100;

interface StoredAttempt extends SignInAttempt {
  /** The tenant that the person has chosen. */
  readonly tenant: string | undefined;
  readonly until: number;
}

/** Sends the browser to the provider. What it needs afterwards is encrypted in a cookie of its own. */
export async function startPersonSignIn(
  { admission, config, vault }: Service,
  results: ConsoleResults,
  provider: IdentityProvider,
  exchange: Exchange,
): Promise<PageResult> {
  admission.failureLimit.check(exchange.address);
  try {
    const { url, attempt } = await provider.start(returnUrlOf(config.publicUrl));
    const { tenant } = exchange.query;
    const stored: StoredAttempt = {
      ...attempt,
      tenant: typeof tenant === 'string' ? tenant : undefined,
      until: databaseClock.now() + attemptLasts,
    };
    const value = vault.encrypt(purpose, JSON.stringify(stored)).toString('base64url');
    return {
      kind: 'page',
      status: 303,
      text: '',
      headers: { Location: url, 'Set-Cookie': results.cookieAcrossSites(cookieName, value, attemptLasts / 1000) },
    };
  } catch (error) {
    exchange.log.error({ err: error }, 'The identity provider cannot be reached');
    return results.signInPage(503, 'The service for signing in cannot be reached. Try again later, or use an API key.');
  }
}

/** Handles the return from the provider: starts a session as an API user of this person, with the roles of its claims. */
export async function finishPersonSignIn(
  service: Service,
  results: ConsoleResults,
  provider: IdentityProvider,
  exchange: Exchange,
): Promise<PageResult> {
  const { admission, config, vault } = service;
  admission.failureLimit.check(exchange.address);
  const attempt = attemptIn(vault, exchange.header('cookie'));
  const url = new URL(returnUrlOf(config.publicUrl));
  for (const [name, value] of Object.entries(exchange.query))
    if (typeof value === 'string') url.searchParams.set(name, value);
  let claims: Claims;
  try {
    if (attempt === undefined) throw new Error('This browser has no sign-in to finish.');
    claims = await provider.finish(url, attempt);
  } catch (error) {
    exchange.log.warn({ err: error }, 'A person could not sign in');
    admission.failureLimit.count(exchange.address);
    return results.signInPage(401, 'You are not signed in. Try again.');
  }
  const names = textsIn(claims[provider.settings.tenantClaim]);
  const chosen = attempt.tenant ?? (names.length === 1 ? names[0] : undefined);
  if (chosen === undefined && names.length > 1) return results.tenantPage(names);
  const tenant = chosen === undefined || !names.includes(chosen) ? undefined : await service.directory.tenant(chosen);
  if (tenant === undefined) return results.notAllowed('Your account belongs to no firm of this service.');
  exchange.tenant = tenant.name;
  checkAccess(tenant, exchange);
  const known = schemaOf('Role').enum ?? [];
  const roles = textsIn(claims[provider.settings.rolesClaim]).filter((role) => known.includes(role));
  if (!hasRole(new Set(roles), [consoleRole])) return results.withoutRole();
  const user = nameOf(claims);
  // The key is never shown: it is what the session ends with, and what an administrator revokes.
  const { id, signingKey } = await createKey(
    service,
    tenant,
    {
      user,
      identity: `${claims.iss} ${claims.sub}`,
      roles: [...new Set(roles)].sort(),
      days: sessionLasts / 86_400,
      description: `Signed in at ${new URL(claims.iss).host}`,
    },
    { apiUserId: null, actor: user, requestId: exchange.id },
  );
  return results.personSignedIn(startSession(vault, tenant.name, id, signingKey));
}

function returnUrlOf(publicUrl: string): string {
  return `${publicUrl}/console/sign-in/return`;
}

function attemptIn(vault: Vault, cookies: string | undefined): StoredAttempt | undefined {
  const value = readCookie(cookies, cookieName, /^[\w-]{1,2000}$/);
  if (value === undefined) return undefined;
  try {
    const stored: StoredAttempt = JSON.parse(vault.decrypt(purpose, Buffer.from(value, 'base64url')));
    return stored.until > databaseClock.now() ? stored : undefined;
  } catch {
    return undefined;
  }
}

/** A claim with one text, or a list of them. */
function textsIn(claim: unknown): string[] {
  return [claim].flat().filter((value) => typeof value === 'string');
}

/** The name of the API user: what the person is called, and the address that tells two of one name apart. */
function nameOf({ name, preferred_username: userName, email, sub }: Claims): string {
  const readable = (text: unknown) =>
    typeof text === 'string' && text.trim() !== '' && text.length <= maxNameLength && faultOf(text) === undefined
      ? text.trim()
      : undefined;
  const [known, account] = [readable(name), readable(email) ?? readable(userName)];
  if (account === undefined && readable(sub) === undefined)
    throw new Rejection('VALIDATION_ERROR', 'Your account has neither a name nor an address that can be shown.');
  if (known === undefined) return account ?? sub;
  return `${known} (${account ?? sub})`;
}
