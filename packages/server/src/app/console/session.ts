import { randomBytes } from 'node:crypto';
import { impliedRoles } from '@financial-automation/spec';
import type { Vault } from '../../platform/auth/vault.ts';
import { databaseClock } from '../../platform/database-clock.ts';
import { readCookie } from '../../wire/cookies.ts';

/** The role that can do everything on the console, as it can by the API. */
export const consoleRole = impliedRoles.administrator;

const cookieName = 'console_session';

/** How long a person stays signed in, in seconds. A session is not extended. */
export const sessionLasts = 3600;

/** Who is signed in. The cookie contains neither the API key nor a token: it is of no use anywhere else. */
export interface ConsoleSession {
  readonly tenant: string;
  readonly keyId: string;
  /** The signing key of the API key, whose retirement ends the session. */
  readonly signingKey: string;
  /** Seconds since 1970. */
  readonly until: number;
  readonly id: string;
  /** The signed text, to which forms are bound. */
  readonly text: string;
}

/** Creates the value of the cookie. */
export function startSession(vault: Vault, tenant: string, keyId: string, signingKey: string): string {
  const until = Math.floor(databaseClock.now() / 1000) + sessionLasts;
  const text = [tenant, keyId, signingKey, until, randomBytes(9).toString('base64url')].join('.');
  return `${text}.${vault.sign('console session', text)}`;
}

/** @returns undefined if there is no cookie, or it is not ours or has expired. */
export function readSession(vault: Vault, cookies: string | undefined): ConsoleSession | undefined {
  const value = readCookie(cookies, cookieName, /^[\w.-]{1,300}$/);
  const {
    text = '',
    tenant = '',
    keyId = '',
    signingKey = '',
    until = '',
    id = '',
    signature = '',
  } = /^(?<text>(?<tenant>[a-z0-9_]+)\.(?<keyId>[0-9a-f-]{36})\.(?<signingKey>[\w-]{1,100})\.(?<until>\d{1,12})\.(?<id>[\w-]+))\.(?<signature>[\w-]+)$/.exec(
    value ?? '',
  )?.groups ?? {};
  if (text === '' || !vault.verify('console session', text, signature)) return undefined;
  return Number(until) * 1000 <= databaseClock.now()
    ? undefined
    : { tenant, keyId, signingKey, until: Number(until), id, text };
}

/** The `Set-Cookie` header; without a value, it removes the cookie. Strict: no other site can send it with a request. */
export function sessionCookie(path: string, isSecure: boolean, value = ''): string {
  const lasts = value === '' ? 0 : sessionLasts;
  return `${cookieName}=${value}; Path=${path}; Max-Age=${lasts}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}

const formCookieName = 'console_form';

/** A sign-in form, which nobody is signed in for yet: its key is bound to a cookie that only this browser has. */
export function newSignInForm(
  vault: Vault,
  path: string,
  isSecure: boolean,
): { readonly key: string; readonly cookie: string } {
  const id = randomBytes(18).toString('base64url');
  const attributes = `Path=${path}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  return { key: vault.sign('console sign-in', id), cookie: `${formCookieName}=${id}; ${attributes}` };
}

export function isSignInKey(vault: Vault, cookies: string | undefined, key: string): boolean {
  const id = readCookie(cookies, formCookieName, /^[\w-]{24}$/);
  return id !== undefined && vault.verify('console sign-in', id, key);
}

/** The anti-forgery key of forms, bound to the session. */
export function formKeyOf(vault: Vault, { text }: ConsoleSession): string {
  return vault.sign('console form', text);
}

export function isFormKey(vault: Vault, { text }: ConsoleSession, key: string): boolean {
  return vault.verify('console form', text, key);
}
