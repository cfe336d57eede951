/** The response that the client prefers: `Prefer: code=404, example=not_found` (RFC 7240). */
import type { Operation } from './contract.ts';

export interface Preference {
  code?: number;
  example?: string;
}

/** Thrown if the operation does not have the preferred response; the message lists the available ones. */
export class UnknownPreference extends Error {}

/** Parses the header. Other preferences are ignored, as the RFC requires. */
export function preferenceOf(header: string | undefined): Preference {
  const preferences = new Map<string, string>();
  for (const part of header?.split(/[,;]/) ?? []) {
    const [name = '', value = ''] = part.split('=').map((text) => text.trim());
    preferences.set(name.toLowerCase(), value.replace(/^"(.*)"$/, '$1'));
  }
  const code = preferences.get('code');
  const example = preferences.get('example');
  return { ...(code !== undefined && { code: Number(code) }), ...(example !== undefined && { example }) };
}

/**
 * Finds the preferred response. Prism looks for the name of an example only in the success, and returns the success
 * if the preferred response does not exist; here, a name is enough, and an unknown preference is an error.
 */
export function chosenResponse(operation: Operation, { code, example }: Preference): Preference {
  const responses = operation.responses.filter((response) => code === undefined || response.status === code);
  if (responses.length === 0) {
    const declared = operation.responses.map(({ status }) => status).join(', ');
    throw new UnknownPreference(`${operation.id} does not return ${code}. It returns ${declared}.`);
  }
  if (example === undefined) return code === undefined ? {} : { code };
  const found = responses.find((response) => response.examples.some(({ name }) => name === example));
  if (found === undefined) {
    const there = responses
      .flatMap(({ status, examples }) => examples.map(({ name }) => `${name} (${status})`))
      .join(', ');
    throw new UnknownPreference(`${operation.id} has no example ${example}. Its examples are ${there}.`);
  }
  return { code: found.status, example };
}
