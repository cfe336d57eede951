import type { FormatDefinition } from 'ajv';
import addFormats from 'ajv-formats';

/** Every day but leap days. */
const day = String.raw`\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)`;
/** As the service writes it. */
const time = String.raw`(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z`;

/**
 * Formats of `ajv-formats` that test the usual values with one pattern first: rows have several instants, and the general check
 * of one takes as long as the rest of the row. A leap second, which the general format allows, is invalid: no `Date` holds one.
 */
export const quickFormats: Readonly<Record<string, FormatDefinition<string>>> = {
  date: quick('date', new RegExp(`^${day}$`)),
  'date-time': quick('date-time', new RegExp(`^${day}T${time}$`)),
};

interface FunctionFormat extends FormatDefinition<string> {
  readonly validate: (text: string) => boolean;
}

function quick(name: 'date' | 'date-time', usual: RegExp): FunctionFormat {
  const general = addFormats.default.get(name);
  if (!isFunctionFormat(general)) throw new Error(`The format ${name} is not a function.`);
  const { validate } = general;
  return { ...general, validate: (text) => usual.test(text) || (validate(text) && !Number.isNaN(Date.parse(text))) };
}

function isFunctionFormat(format: unknown): format is FunctionFormat {
  return typeof format === 'object' && format !== null && typeof Reflect.get(format, 'validate') === 'function';
}
