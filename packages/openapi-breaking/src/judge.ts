/** Where we judge a change otherwise than Redocly does: what it misses, and what it reports although nothing breaks. */
import { isDeepStrictEqual } from 'node:util';
import { type JsonObject, objectOf } from '../../../openapi/rules/contract.ts';
import { type Bundle, keysOf, operationsOf, pointerTo, valueAt } from './document.ts';
import type { Change } from './redocly.ts';
import { type Uses, usesIn } from './uses.ts';

export interface Judgement {
  readonly rule: string;
  readonly says: string;
}

/** A change and what is known about its place. */
interface Judged extends Change {
  readonly uses: Uses;
  /** The keys of the path through every reference. */
  readonly keys: readonly string[];
  /** The schema, header or other object around the changed keyword, before and after. */
  readonly around: readonly [JsonObject, JsonObject];
}

/** Returns a function that judges the changes between two documents. */
export function judgeOf(released: Bundle, present: Bundle): (change: Change) => Judgement[] {
  const [usesBefore, usesNow] = [usesIn(released), usesIn(present)];
  const required = requiredSchemes(released);
  return (change) => {
    const at = change.base?.pointer ?? change.revision?.pointer ?? change.path;
    const was = usesBefore(change.base?.pointer ?? at);
    const is = usesNow(change.revision?.pointer ?? at);
    const uses = {
      request: was.request || is.request,
      response: was.response || is.response,
      isJson: was.isJson || is.isJson,
      isXml: was.isXml || is.isXml,
    };
    const keys = keysOf(change.path);
    if (keys[1] === 'securitySchemes' && !required.has(keys[2] ?? '')) return [];
    const around = [
      objectOf(valueAt(released, containerOf(change, change.base?.pointer ?? change.revision?.pointer))),
      objectOf(valueAt(present, containerOf(change, change.revision?.pointer ?? change.base?.pointer))),
    ] as const;
    const judged = { ...change, uses, keys, around };
    const found = change.verdicts
      .filter(({ impact, ruleId }) => impact === 'major' && !isHarmless(judged, ruleId))
      .map(({ ruleId, message }) => ({ rule: ruleId, says: message }));
    const isUsed = uses.request || uses.response || keys[0] !== 'components' || keys[1] === 'securitySchemes';
    if (found.length > 0 || !isUsed) return found;
    return Object.entries(missed).flatMap(([rule, sentenceFor]) => {
      const says = sentenceFor(judged);
      return says === undefined ? [] : [{ rule, says }];
    });
  };
}

/** The pointer of the object that has the changed keyword: of the schema, for a pattern or a place in a list. */
function containerOf({ kind, property }: Change, pointer = ''): string {
  const keys = keysOf(pointer);
  if (kind === 'modified') return keys.at(-1) === property ? pointerTo(...keys.slice(0, -1)) : pointer;
  return pointerTo(...keys.slice(0, places.has(keys.at(-2) ?? '') ? -2 : -1));
}

const wholes = new Set(['if', 'contentSchema', 'schema']);
const places = new Set(['patternProperties', 'prefixItems']);

function requiredSchemes(bundle: Bundle): Set<string> {
  const lists = [bundle.security, ...operationsOf(bundle).map(({ operation }) => operation.security)];
  return new Set(lists.flat().flatMap((requirement) => Object.keys(objectOf(requirement))));
}

/** What Redocly reports, although every request is accepted and every response understood as before. */
function isHarmless(change: Judged, ruleId: string): boolean {
  // What a schema under `not` rejects, the schema around it accepts.
  const not = keywordIn(change.keys, ['not']);
  if (not >= 0 && !(not === change.keys.length - 1 && change.kind !== 'modified')) return true;
  if (ruleId === 'enum-values-added' && change.around[0]['x-open-enum'] === true) return true;
  if (isOpened(change) || isOfNewType(change)) return true;
  return ruleId === 'schema-type-changed' && !change.uses.isJson && isSameText(change);
}

/** Whether an object no longer rejects what it does not declare. Whoever receives it ignores that, as it ignores a property that is added. */
function isOpened({ property, base, revision }: Judged): boolean {
  const isClosing = property === 'additionalProperties' || property === 'unevaluatedProperties';
  return isClosing && base?.value === false && revision?.value === undefined;
}

/** Keywords that concern only values of one type. */
const concerned: Readonly<Record<string, RegExp>> = {
  string: /^(pattern|minLength|maxLength|content.*)$/,
  number: /^(minimum|maximum|exclusive.*|multipleOf)$/,
  array: /^(.*items|contains)$/i,
  object: /^(required|.*properties|propertyNames)$/i,
};

/** Whether a constraint concerns only values of a type that was not accepted before. */
function isOfNewType({ property, keys, base, around: [{ type }], uses }: Judged): boolean {
  const keyword = property ?? keys.at(-1) ?? '';
  const [of] = Object.entries(concerned).find(([, keywords]) => keywords.test(keyword)) ?? [];
  const accepted = [type ?? of].flat().map((one) => (one === 'integer' ? 'number' : one));
  return base?.value === undefined && !uses.response && of !== undefined && !accepted.includes(of);
}

/** In text nothing is null, and every scalar is also a string. An element of XML with text only is a string, too. */
function isSameText({ around, uses }: Judged): boolean {
  const [before, after] = around.map((schema) => [schema.type ?? []].flat().filter((type) => type !== 'null'));
  const covers = (wide: readonly unknown[] = [], narrow: readonly unknown[] = []) =>
    narrow.length > 0 &&
    narrow.every((type) => {
      const isString = wide.includes('string') && (uses.isXml || (type !== 'array' && type !== 'object'));
      return wide.includes(type) || isString || (type === 'integer' && wide.includes('number'));
    });
  return (!uses.request || covers(after, before)) && (!uses.response || covers(before, after));
}

/** Whether more or fewer values match than before. Whoever sends suffers from fewer, whoever receives from more. */
type Effect = 'more' | 'fewer' | 'both' | 'none';

const breaks = (effect: Effect, { request, response }: Uses) =>
  (request && (effect === 'fewer' || effect === 'both')) || (response && (effect === 'more' || effect === 'both'));

const quoted = (value: unknown) => JSON.stringify(value) ?? 'none';

/** What Redocly reports as harmless or not at all, by rule. */
const missed: Readonly<Record<string, (change: Judged) => string | undefined>> = {
  // Omitting the parameter or property has a different result than before.
  'default-changed': ({ kind, property, base, revision, uses, keys, around }) => {
    if (kind !== 'modified' || property !== 'default' || !uses.request || around[1].readOnly) return undefined;
    if (base?.value === undefined && !(keys.includes('parameters') && keys.at(-1) === 'schema')) return undefined;
    return `The default changed from ${quoted(base?.value)} to ${quoted(revision?.value)}.`;
  },
  'schema-constraint-changed': (change) => {
    const { property, base, revision, uses, keys } = change;
    const effect = effectOf(change);
    if (!breaks(effect, uses)) return undefined;
    const keyword = property ?? keys.at(-1);
    return `\`${keyword}\` changed from ${quoted(base?.value)} to ${quoted(revision?.value)}.`;
  },
  'property-read-only': ({ property, revision, uses }) =>
    property === 'readOnly' && revision?.value === true && uses.request ? 'Can no longer be sent.' : undefined,
  'property-write-only': ({ property, revision, uses }) =>
    property === 'writeOnly' && revision?.value === true && uses.response ? 'Is no longer returned.' : undefined,
  // The object is open, so the request is accepted, but the value is ignored.
  'property-removed': ({ kind, typeName, property, keys, base, uses }) => {
    const isGone = kind === 'removed' || (kind === 'modified' && property === 'key');
    if (!isGone || typeName !== 'Schema' || keys.at(-2) !== 'properties' || !uses.request) return undefined;
    return `Property \`${property === 'key' ? base?.value : keys.at(-1)}\` is no longer documented, so it may be ignored.`;
  },
  'request-body-became-required': ({ kind, typeName, revision, uses }) =>
    kind === 'added' && typeName === 'RequestBody' && objectOf(revision?.value).required === true && uses.request
      ? 'A request body must be sent.'
      : undefined,
  'response-removed': ({ kind, typeName }) =>
    kind === 'removed' && typeName === 'Responses' ? 'All responses were removed.' : undefined,
  'response-header-became-optional': ({ kind, typeName, property, base, keys }) =>
    kind === 'modified' && typeName === 'Header' && property === 'required' && base?.value === true
      ? `The header \`${keys.at(-1)}\` may be missing.`
      : undefined,
  // Redocly treats a parameter as part of a request that we receive.
  'webhook-header-removed': ({ kind, typeName, keys, base }) =>
    kind === 'removed' && typeName.startsWith('Parameter') && keys[0] === 'webhooks'
      ? `No longer sent: ${headerNames(base?.value)}.`
      : undefined,
  'webhook-renamed': ({ typeName, property, keys, base, revision }) =>
    typeName === 'PathItem' && property === 'key' && (keys[0] === 'webhooks' || keys.includes('callbacks'))
      ? `The ${keys.includes('callbacks') ? 'callback to' : 'webhook'} \`${base?.value}\` became \`${revision?.value}\`.`
      : undefined,
  'security-scheme-changed': ({ typeName, kind, keys }) =>
    typeName.endsWith('Flow') && kind === 'removed' ? `The flow \`${keys.at(-1)}\` was removed.` : undefined,
  'parameter-serialization-changed': ({ typeName, kind, keys }) =>
    kind !== 'modified' && typeName === 'MediaTypesMap' && keys.at(-3) === 'parameters'
      ? `The form of a parameter changed: it ${kind === 'added' ? 'is now' : 'is no longer'} described by a media type.`
      : undefined,
  'discriminator-changed': ({ kind, typeName, property, keys, base, revision }) => {
    if (typeName === 'Discriminator' && kind === 'modified' && property === 'propertyName')
      return `The property that says the schema changed from ${quoted(base?.value)} to ${quoted(revision?.value)}.`;
    const isGone = kind === 'removed' || property === 'key';
    return keys.at(-2) === 'mapping' && keys.at(-3) === 'discriminator' && isGone
      ? `The value ${quoted(property === 'key' ? base?.value : keys.at(-1))} no longer says a schema.`
      : undefined;
  },
  'encoding-changed': ({ typeName, keys, around, kind, base, revision }) => {
    if (typeName !== 'Encoding') return undefined;
    const [was, is] = kind === 'modified' ? around : [objectOf(base?.value), objectOf(revision?.value)];
    const [before, after] = [effectiveEncoding(was), effectiveEncoding(is)];
    return isDeepStrictEqual(before, after)
      ? undefined
      : `The part \`${keys.at(-1)}\` was written as ${quoted(before)}, and now is as ${quoted(after)}.`;
  },
  'xml-changed': ({ typeName, kind, keys, property, base, revision, around, uses }) => {
    if (typeName !== 'Xml' || !uses.isXml) return undefined;
    const [was, is] = kind === 'modified' ? around : [objectOf(base?.value), objectOf(revision?.value)];
    const of = `\`${keys.filter((key) => key !== 'properties' && key !== 'xml').at(-1)}\``;
    return isDeepStrictEqual(was, is)
      ? undefined
      : `The ${property ?? 'form'} of ${of} in XML changed: ${quoted(was)}, ${quoted(is)}.`;
  },
  'server-narrowed': ({ typeName, property, keys, base, revision }) => {
    if (typeName !== 'ServerVariable' || property !== 'enum') return undefined;
    const lost = without(base?.value, revision?.value);
    return lost.length > 0 ? `The variable \`${keys.at(-1)}\` of a server lost ${lost.join(', ')}.` : undefined;
  },
  'record-narrowed': ({ kind, property = '', keys, base, revision }) => {
    if (kind !== 'modified' || !keys.some((key) => recordForms.has(key))) return undefined;
    const lost = without(base?.value, revision?.value);
    return lost.length > 0 ? `\`${property}\` lost ${lost.join(', ')}.` : undefined;
  },
  'became-unique': ({ property, revision }) =>
    property === 'x-unique' && revision?.value === true ? 'A value may occur only once.' : undefined,
};

const recordForms = new Set(['x-record', 'x-code-type', 'x-entry-type']);

/** How a change of a keyword that Redocly does not judge changes what matches. */
function effectOf(change: Judged): Effect {
  const { kind, typeName, property, base, revision, keys, around } = change;
  const isWhole = kind !== 'modified';
  const added: Effect = kind === 'added' ? 'fewer' : 'more';
  if (property === 'minContains' || property === 'maxContains') {
    const [was, is] = [base?.value, revision?.value].map((value) =>
      typeof value === 'number' ? value : property === 'minContains' ? 1 : Number.POSITIVE_INFINITY,
    );
    if (was === undefined || is === undefined || was === is) return 'none';
    return is > was === (property === 'minContains') ? 'fewer' : 'more';
  }
  if (typeName === 'DependentRequired' && !isWhole) {
    const [lost, won] = [without(base?.value, revision?.value), without(revision?.value, base?.value)];
    if (lost.length > 0 && won.length > 0) return 'both';
    return lost.length > 0 ? 'more' : won.length > 0 ? 'fewer' : 'none';
  }
  if (typeName === 'PatternProperties' || places.has(keys.at(-2) ?? '')) {
    if (!isWhole) return property === 'key' ? 'both' : 'none';
    // If all others are rejected, a pattern or a place in a list admits more; otherwise it restricts what it matches.
    const isClosed = around.some((schema) => schema.additionalProperties === false || schema.items === false);
    return isClosed ? (kind === 'added' ? 'more' : 'fewer') : added;
  }
  // A property that must match something if a condition holds; and a reference to what depends on the schemas around it.
  const isProperty = keys.at(-1) === 'properties' || keys.at(-2) === 'properties';
  if (isWhole && isProperty && keywordIn(keys, ['then', 'else', 'dependentSchemas']) >= 0) return added;
  if (property === '$dynamicRef') return 'both';
  const isAnnotation = property !== undefined && annotations.test(property);
  // The schema of a parameter, a header or a media type, a condition, or what a text contains.
  if (isWhole && wholes.has(keys.at(-1) ?? '') && keys.at(-2) !== 'properties') return added;
  const under = keywordIn(keys, ['if', 'not']);
  return under >= 0 && !isAnnotation && !(isWhole && under === keys.length - 1) ? 'both' : 'none';
}

/** An encoding of a part of a form without the values that hold anyway. */
function effectiveEncoding({
  contentType,
  style = 'form',
  explode = style === 'form',
  allowReserved = false,
}: JsonObject) {
  return { ...(contentType === undefined ? {} : { contentType }), style, explode, allowReserved };
}

/** The first place of a keyword in a path; -1 if it only is the name of a property, or not there. */
function keywordIn(keys: readonly string[], keywords: readonly string[]): number {
  return keys.findIndex((key, index) => keywords.includes(key) && keys[index - 1] !== 'properties');
}

const annotations = /^(title|description|summary|examples?|default|deprecated|readOnly|writeOnly|\$comment|x-.*)$/;

function headerNames(value: unknown): string {
  const names = [value].flat().map((header) => Object(header).name ?? Object(header).$ref?.split('/').at(-1));
  return names.map((name) => `\`${name ?? 'a header'}\``).join(', ');
}

function without(before: unknown, after: unknown): unknown[] {
  return Array.isArray(before)
    ? before.filter((value) => !Array.isArray(after) || !after.some((other) => isDeepStrictEqual(value, other)))
    : [];
}
