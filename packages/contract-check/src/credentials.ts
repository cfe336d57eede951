/** Records the credentials of a run, so that reports can mask them. */
import type { Auth, CalledOperation } from './options.ts';
import { isSecretName, type Secret, secretsInHeader, variableOf } from './report/mask.ts';

type Headers = Readonly<Record<string, string>>;

/** A header value of this length that is not an ID is treated as a credential, regardless of its name. */
const minSecretLength = 24;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Wraps an auth module, and records every credential that it returns. */
export function remembering(auth: Auth, remember: (secret: Secret) => void): Auth {
  const wrapped = <Name extends keyof Auth>(name: Name, secretsOf: (received: Headers) => Secret[]) => {
    if (auth[name] === undefined) return {};
    const call = async (operation?: CalledOperation): Promise<Headers> => {
      const received = ((await auth[name]?.(operation)) ?? {}) as Headers;
      for (const secret of secretsOf(received)) remember(secret);
      return received;
    };
    // Only a function that declares a parameter is called for each operation.
    return { [name]: Object.defineProperty(call, 'length', { value: auth[name].length }) };
  };
  const others = (['expired', 'forbidden', 'otherTenant'] as const).map((identity) =>
    wrapped(identity, (headers) => secretsOfHeaders(headers, `${variableOf(identity)}_`)),
  );
  return Object.assign({}, wrapped('caller', secretsOfHeaders), ...others, wrapped('values', secretsOfValues));
}

/** @param prefix of the variables, such as `OTHER_TENANT_`. */
export function secretsOfHeaders(headers: Headers, prefix = ''): Secret[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    secretsOfHeader(name, value).map((secret) => ({ ...secret, variable: prefix + secret.variable })),
  );
}

export function secretsOfValues(values: Readonly<Record<string, unknown>>): Secret[] {
  return Object.entries(values).flatMap(([name, value]) =>
    typeof value === 'string' && isSecretName(name) ? [{ value, variable: variableOf(name) }] : [],
  );
}

function secretsOfHeader(name: string, value: string): Secret[] {
  const found = secretsInHeader(name, value);
  if (found.length === 0 && value.length >= minSecretLength && !uuid.test(value))
    return [{ value, variable: variableOf(name) }];
  const passwords = found
    .filter(({ variable }) => variable === 'CREDENTIALS')
    .map((basic) => {
      const [, password = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(basic.value, 'base64').toString()) ?? [];
      return { value: password, variable: 'PASSWORD' };
    });
  return [...found, ...passwords];
}
