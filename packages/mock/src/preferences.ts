/** What a caller wants to be answered: `Prefer: code=404, example=not_found` (RFC 7240). */
import type { Operation } from './contract.ts';

export interface Preference {
  code?: number;
  example?: string;
}

/** Where a preference cannot be met; the message says what there is. */
export class UnknownPreference extends Error {}

/** Reads the header. Preferences that are not ours are left alone, as the RFC asks. */
export function preferenceOf(header: string | undefined): Preference {
  const given = new Map<string, string>();
  for (const part of header?.split(/[,;]/) ?? []) {
    const [name = '', value = ''] = part.split('=').map((text) => text.trim());
    given.set(name.toLowerCase(), value.replace(/^"(.*)"$/, '$1'));
  }
  const code = given.get('code');
  const example = given.get('example');
  return { ...(code !== undefined && { code: Number(code) }), ...(example !== undefined && { example }) };
}

/**
 * Finds the answer that is preferred. Prism takes an example's name among those of the success alone, and answers success
 * where it cannot do what is preferred; here a name is enough, and what cannot be done is said.
 */
export function chosenAnswer(operation: Operation, { code, example }: Preference): Preference {
  const answers = operation.answers.filter((answer) => code === undefined || answer.status === code);
  if (answers.length === 0) {
    const declared = operation.answers.map(({ status }) => status).join(', ');
    throw new UnknownPreference(`${operation.id} does not answer ${code}. It answers ${declared}.`);
  }
  if (example === undefined) return code === undefined ? {} : { code };
  const found = answers.find((answer) => answer.examples.some(({ name }) => name === example));
  if (found === undefined) {
    const there = answers
      .flatMap(({ status, examples }) => examples.map(({ name }) => `${name} (${status})`))
      .join(', ');
    throw new UnknownPreference(`${operation.id} has no such example as ${example}. It has ${there}.`);
  }
  return { code: found.status, example };
}
