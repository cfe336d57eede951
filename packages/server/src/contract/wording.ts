/** Sentences about values that violate the contract, in the contract's own words. */
import type { ErrorObject } from 'ajv/dist/2020.js';
import { distance } from 'fastest-levenshtein';
import type { Schema } from './contract.ts';
import { propertiesOf, resolved } from './fields.ts';

/** A longer list of names would not fit into a detail. */
const maxListLength = 900;
/** A longer list of names would hide what is wrong. */
const maxExampleLength = 200;

/** Every text of a request that must not be empty has this pattern, unless it has another one. */
const notBlank = '\\S';

/** The JSON types in words. */
const types: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

/** Errors of these keywords only repeat the errors of the branches. */
const echoes = new Set(['anyOf', 'oneOf', 'if', 'propertyNames']);

/**
 * Returns the errors that tell a caller something, each with its sentence. A value that has none of several allowed types has
 * one error, and a malformed text that is also too short, too.
 */
export function distinct(errors: readonly ErrorObject[]): { readonly error: ErrorObject; readonly detail: string }[] {
  const choices = errors.filter((error) => choiceOf(error) !== undefined);
  const telling = errors.filter(
    (error) =>
      choices.includes(error) ||
      !(echoes.has(error.keyword) || choices.some((choice) => error.schemaPath.startsWith(`${choice.schemaPath}/`))),
  );
  // A value that matches several branches of which only one may match has no errors in them.
  if (telling.length === 0) return errors.map((error) => ({ error, detail: detailOf(error) }));
  const byPath = Map.groupBy(telling, ({ instancePath }) => instancePath);
  return [...byPath].flatMap(([path, same]) => {
    const inside = telling.some(({ instancePath }) => instancePath.startsWith(`${path}/`));
    const [ofType, others] = [same.filter(isOfType), same.filter((error) => !isOfType(error))];
    // The value has one of the types, and other errors than its type.
    const isOfOneType = inside || others.some(({ keyword }) => keyword !== 'not');
    const [first] = ofType;
    if (first !== undefined && !isOfOneType) return [{ error: first, detail: typeDetail(ofType) }];
    const byDetail = Map.groupBy(
      others.length > 0 || inside ? others : same,
      (error) => `${error.params.missingProperty ?? error.params.additionalProperty ?? ''} ${detailOf(error)}`,
    );
    return [...byDetail.values()].flatMap((repeats) => {
      const error = repeats.find(({ keyword }) => keyword === 'format' || keyword === 'pattern') ?? repeats[0];
      if (error === undefined) return [];
      // A day or time that the pattern accepts and the format does not.
      const hasForm = error.keyword === 'format' && (error.parentSchema as Schema).pattern !== undefined;
      const isUnknownDay = hasForm && !repeats.some(({ keyword }) => keyword === 'pattern');
      return [{ error, detail: isUnknownDay ? 'The day or time does not exist.' : detailOf(error) }];
    });
  });
}

/** The properties of which an object must have exactly one, if that is all that a `oneOf` says. */
function choiceOf({ keyword, schema, data }: ErrorObject): readonly string[] | undefined {
  // Values of other types have all branches.
  if (keyword !== 'oneOf' || !Array.isArray(schema)) return undefined;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return undefined;
  const branches: readonly Schema[] = schema;
  const names = branches.flatMap(({ required = [], ...others }) => (Object.keys(others).length > 0 ? [] : required));
  return names.length === branches.length ? names : undefined;
}

function isOfType({ keyword }: ErrorObject): boolean {
  return keyword === 'type';
}

function typeDetail(errors: readonly ErrorObject[]): string {
  const allowed = [...new Set(errors.flatMap(({ params }) => [params.type].flat()))];
  const [schema = {}] = errors.map(({ parentSchema }) => parentSchema as Schema);
  return `The value must be ${either(allowed.map((type) => types[type] ?? type))}${exampleOf(schema, allowed)}`;
}

/** What a value of another type should have been, if its schema says it in a few words. */
function exampleOf(schema: Schema, allowed: readonly string[]): string {
  const [example] = schema.examples ?? [];
  if (allowed.includes('string') && typeof example === 'string') return `, such as ${JSON.stringify(example)}.`;
  const isChoice = allowed.includes('object') && schema.required === undefined;
  const names = isChoice ? namesIn(schema).join(', ') : '';
  return names !== '' && names.length <= maxExampleLength ? `. The object can have: ${names}.` : '.';
}

/**
 * Describes an error of Ajv so that a caller knows what to send: the allowed values, the form with an example, or the
 * property that was probably meant. Requires Ajv's option `verbose`.
 */
export function detailOf(error: ErrorObject): string {
  const { keyword, params, message = 'is invalid', parentSchema = {} } = error;
  const schema = parentSchema as Schema;
  const limit = Number(params.limit);
  const { propertyName, ...ofName } = error;
  if (propertyName !== undefined)
    return detailOf(ofName).replace(/^The (value|text)/, `The name ${JSON.stringify(propertyName)}`);
  switch (keyword) {
    case 'required':
      return 'The value is missing.';
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return unknownProperty(String(params.additionalProperty ?? params.unevaluatedProperty), namesIn(schema));
    case 'type':
      return typeDetail([error]);
    case 'enum': {
      const [allowed, sent]: [unknown[], unknown] = [params.allowedValues, params.sent ?? error.data];
      const parts = typeof sent === 'string' && /\/\d+$/.test(error.instancePath) ? sent.split(',') : [];
      if (parts.length > 1 && parts.every((part) => allowed.includes(part.trim())))
        return 'The value has several values in one. Send each as an item of its own, in a query by repeating the parameter.';
      return `The value must be ${oneOf(allowed, sent)}.`;
    }
    case 'format':
    case 'pattern':
      return schema.pattern === notBlank ? 'The text must not be blank.' : `The value must have ${formOf(schema)}.`;
    case 'minLength':
      if (limit === 1 && (schema.pattern ?? notBlank) === notBlank) return 'The text must not be blank.';
      if (schema.pattern !== undefined || schema.format !== undefined) return `The value must have ${formOf(schema)}.`;
      return `The text must have at least ${limit} characters.`;
    case 'maxLength':
      return `The text must have at most ${limit} characters.`;
    case 'minimum':
    case 'maximum':
      return `The number must be at ${keyword === 'minimum' ? 'least' : 'most'} ${limit}.`;
    case 'minItems':
      return `The list must have at least ${counted(limit, 'item')}.`;
    case 'maxItems':
      return `The list must have at most ${counted(limit, 'item')}.`;
    case 'uniqueItems':
      return `The list must not repeat a value: items ${Math.min(params.i, params.j)} and ${Math.max(params.i, params.j)} are equal.`;
    case 'minProperties':
      return `The object must have at least ${leastProperties(limit, schema)}.`;
    case 'maxProperties': {
      const sent = Object.keys(propertiesOf(schema)).filter((name) => Object.hasOwn(Object(error.data), name));
      // In a list, such as that of what to sort by, each can be in an item of its own.
      const isItem = /\/\d+$/.test(error.instancePath);
      if (limit === 1 && !isItem && sent.length > 1 && fits(sent)) return `Send only one of ${sent.join(' and ')}.`;
      return `The object must have at most ${counted(limit, 'property', 'properties')}.`;
    }
    case 'oneOf': {
      const choice = choiceOf(error);
      if (choice !== undefined) return `Send exactly one of ${choice.join(' and ')}.`;
      return `The value must match exactly one of several forms. ${schema.description ?? ''}`.trim();
    }
    case 'not':
      // What is rejected says itself what to send instead.
      return (error.schema as Schema).description ?? `The value is not allowed. ${schema.description ?? ''}`.trim();
    default:
      return `The value ${message}.`;
  }
}

/** What an object lacks: one of the properties that it may omit, if they can be listed. */
function leastProperties(limit: number, schema: Schema): string {
  const { required = [] } = schema;
  const optional = Object.keys(propertiesOf(schema)).filter((name) => !required.includes(name));
  return limit === required.length + 1 && optional.length > 1 && fits(optional)
    ? `one of ${either(optional)}`
    : counted(limit, 'property', 'properties');
}

/** The form of a text: its example, and what its schema says about it. */
function formOf(schema: Schema): string {
  const [example] = schema.examples ?? [];
  const description = schema.description === undefined ? undefined : firstSentence(schema.description);
  if (example !== undefined) {
    const form = `the form ${JSON.stringify(example)}`;
    return description === undefined ? form : `${form} (${lowerFirst(description)})`;
  }
  if (description !== undefined) return `the right form: ${lowerFirst(description)}`;
  return schema.pattern === undefined ? `the format ${schema.format}` : `the form ${schema.pattern}`;
}

/** Describes a property that is none of those that an object can have. */
export function unknownProperty(name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  if (meant !== undefined) return `Unknown property. Did you mean ${meant}?`;
  return names.length > 0 && fits(names)
    ? `Unknown property. The object can have: ${names.join(', ')}.`
    : 'Unknown property.';
}

/** The properties of a schema and of the parts that it is composed of. */
function namesIn(schema: Schema): string[] {
  const parts = (resolved(schema).allOf ?? []).flatMap(namesIn);
  return [...new Set([...Object.keys(propertiesOf(schema)), ...parts])];
}

/** The name with the fewest letters to change; none if a third of the letters or more would change. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  // Distances take time in proportion to the length; no property is as long.
  if (name.length > 64) return undefined;
  const [best] = names
    .map((candidate) => ({ candidate, changes: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, changes }) => changes <= Math.max(1, Math.floor(candidate.length / 3)))
    .sort((left, right) => left.changes - right.changes);
  return best?.candidate;
}

function oneOf(allowed: unknown, sent: unknown): string {
  const values = Array.isArray(allowed) ? allowed.filter((value) => value !== null) : [];
  if (values.length === 1) return JSON.stringify(values[0]);
  if (fits(values)) return `one of ${values.join(', ')}`;
  const meant = nearest(String(sent), values.map(String));
  return `one of the ${values.length} allowed values, such as ${meant ?? values.slice(0, 5).join(', ')}`;
}

function fits(names: readonly unknown[]): boolean {
  return names.join(', ').length <= maxListLength;
}

function either(words: readonly string[]): string {
  return words.length === 1 ? `${words[0]}` : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

function lowerFirst(text: string): string {
  // An abbreviation or a code keeps its capitals.
  return /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

function firstSentence(text: string): string {
  return (text.split(/\.(?:\s|$)/, 1)[0] ?? text).replaceAll(/\s+/g, ' ');
}
