/** Records the credentials of a run, so that reports can mask them. */
import type { Auth } from './options.ts';
import { isSecretName, type Secret, variableOf } from './report/mask.ts';

type Headers = Readonly<Record<string, string>>;

const identities = ['caller', 'expired', 'forbidden', 'otherTenant'] as const;
/** A header value of this length that is not an ID is treated as a credential, regardless of its name. */
const minSecretLength = 24;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Wraps an auth module, and records every credential that it returns. */
export function remembering(auth: Auth, remember: (secret: Secret) => void): Auth {
  const { values } = auth;
  const entries = identities.flatMap((identity) => {
    if (auth[identity] === undefined) return [];
    const headers = async () => {
      const received = (await auth[identity]?.()) ?? {};
      for (const secret of secretsOfHeaders(received, identity === 'caller' ? '' : `${variableOf(identity)}_`))
        remember(secret);
      return received;
    };
    return [[identity, headers] as const];
  });
  const kept = {
    values: async () => {
      const received = (await auth.values?.()) ?? {};
      for (const secret of secretsOfValues(received)) remember(secret);
      return received;
    },
  };
  return { ...Object.fromEntries(entries), ...(values === undefined ? {} : kept) } as Auth;
}

/** @param prefix of the variables, such as `OTHER_TENANT_`. */
export function secretsOfHeaders(headers: Headers, prefix = ''): Secret[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    secretsOfHeader(name.toLowerCase(), value).map((secret) => ({ ...secret, variable: prefix + secret.variable })),
  );
}

export function secretsOfValues(values: Readonly<Record<string, unknown>>): Secret[] {
  return Object.entries(values).flatMap(([name, value]) =>
    typeof value === 'string' && isSecretName(name) ? [{ value, variable: variableOf(name) }] : [],
  );
}

function secretsOfHeader(name: string, value: string): Secret[] {
  if (name === 'authorization' || name === 'proxy-authorization') return secretsOfAuthorization(value);
  if (name === 'cookie') return value.split(';').flatMap(secretOfCookie);
  const isSecret = isSecretName(name) || (value.length >= minSecretLength && !uuid.test(value));
  return isSecret ? [{ value, variable: variableOf(name) }] : [];
}

function secretsOfAuthorization(value: string): Secret[] {
  const [, scheme = '', credentials = value] = /^([A-Za-z][\w-]*)[ \t]+(\S.*)$/.exec(value) ?? [];
  if (scheme.toLowerCase() !== 'basic') return [{ value: credentials, variable: 'TOKEN' }];
  const [, password = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(credentials, 'base64').toString()) ?? [];
  return [
    { value: credentials, variable: 'CREDENTIALS' },
    { value: password, variable: 'PASSWORD' },
  ];
}

function secretOfCookie(pair: string): Secret[] {
  const [, name = '', value = ''] = /^\s*([^=]+)=(.*)$/s.exec(pair) ?? [];
  return value === '' ? [] : [{ value, variable: `COOKIE_${variableOf(name)}` }];
}
