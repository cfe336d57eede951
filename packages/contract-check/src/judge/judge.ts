import type { OpenApiDocument, Place } from '../document/document.ts';
import type { Content, DeclaredResponse, Operation, Parameter } from '../document/operation.ts';
import { anything } from '../document/shape.ts';
import { type Candidate, candidateOf, responseText } from '../finding/finding.ts';
import type { Exchange, ReceivedResponse } from '../http/call.ts';
import { noResponse } from '../http/client.ts';
import { fromText } from '../http/deserialize.ts';
import { isStream, itemsIn } from '../http/stream.ts';
import {
  at,
  cut,
  escapeSegment,
  isDeep,
  isJson,
  isObject,
  type JsonObject,
  jsonText,
  parsedJson,
  unescapeSegment,
} from '../json.ts';
import type { Validators } from '../schema/validators.ts';
import { objectsIn, sentSchema, View } from '../schema/view.ts';

/** The schema that declares the properties of an object; undefined if it says something about others. */
function closedObject({ names, parts }: View): JsonObject | undefined {
  const isDecided = ({ additionalProperties, unevaluatedProperties }: JsonObject) =>
    typeof additionalProperties === 'boolean' || unevaluatedProperties !== undefined;
  // A schema without type and properties allows any content. Validation rejects what closed schemas do not declare.
  if (names.length === 0 || parts.includes(anything) || parts.some(isDecided)) return undefined;
  return parts.find((part) => isObject(part.properties));
}

/** The declared response for a status: the status itself, its class, or the default. */
export function declaredResponseFor(operation: Operation, status: number): DeclaredResponse | undefined {
  const named = (name: string) => operation.responses.find((response) => response.status.toUpperCase() === name);
  const own = named(String(status)) ?? named(`${Math.floor(status / 100)}XX`);
  // Where successes are declared, the default is for errors.
  const isOther = status < 400 && operation.responses.some((response) => /^2/.test(response.status));
  return own ?? (isOther ? undefined : named('DEFAULT'));
}

/** Whether a request names the properties of rows to return, so that others are missing in the response. */
function selectsProperties(
  document: OpenApiDocument,
  operation: Operation,
  { url, body }: Exchange['request'],
): boolean {
  const query = new URL(url).searchParams;
  const sent = body === undefined ? undefined : parsedJson(body)?.value;
  const accepted = View.ofRequest(document, operation);
  return (
    operation.parameters.some(
      ({ name, schema }) => query.has(name) && View.of(document, schema).states('partial', true),
    ) ||
    (isObject(sent) && Object.keys(sent).some((name) => accepted.member(name).states('partial', true)))
  );
}

/** The JSON of a successful response that is not too deep for recursion. */
export interface Success {
  readonly operation: Operation;
  readonly declared: DeclaredResponse;
  readonly value: unknown;
}

export function successIn({ operation, response: { status, json } }: Exchange): Success | undefined {
  if (operation === undefined || status >= 300 || json === undefined || isDeep(json.value)) return undefined;
  const declared = declaredResponseFor(operation, status);
  return declared && { operation, declared, value: json.value };
}

export function isNotImplemented(exchange: Exchange): boolean {
  return exchange.response.status === 501;
}

/**
 * Whether a request was rejected because its URL and headers exceed the 8,000 octets that every server must support
 * (RFC 9110, 4.1). Often a proxy in front of the server rejects it.
 */
function isRejectedAsLong({ request, response }: Exchange): boolean {
  const length = request.url.length + jsonText(request.headers).length;
  return length > 8000 && [414, 431].includes(response.status);
}

export class Judge {
  readonly #document: OpenApiDocument;
  readonly #validators: Validators;
  readonly #allowsUnimplemented: boolean;

  constructor(
    document: OpenApiDocument,
    validators: Validators,
    { allowUnimplemented = false }: { readonly allowUnimplemented?: boolean } = {},
  ) {
    this.#document = document;
    this.#validators = validators;
    this.#allowsUnimplemented = allowUnimplemented;
  }

  judge(exchange: Exchange): Candidate[] {
    return [...this.#found(exchange)];
  }

  *#found(exchange: Exchange): Generator<Candidate> {
    const { operation, request, response } = exchange;
    const { status, headers } = response;
    const id = operation?.id ?? `${request.method} ${new URL(request.url).pathname}`;
    const place = undefined;
    if (status === noResponse) return yield candidateOf('no-response', { id }, '', { actual: response.text, place });
    const isFault = status >= 500 && status !== 501 && !(status === 503 && headers['retry-after'] !== undefined);
    const fault = { title: `The server fails with ${status}`, actual: responseText(exchange), place };
    if (isFault) return yield candidateOf('server-error', { id }, String(status), fault);
    if (operation === undefined || isRejectedAsLong(exchange)) return;
    const missing = { title: 'The operation is not implemented', actual: '501' };
    const declared = declaredResponseFor(operation, status);
    if (isNotImplemented(exchange)) {
      if (!this.#allowsUnimplemented)
        yield candidateOf('not-implemented', operation, '', { ...missing, place: this.#placeOf(operation.node) });
    } else if (declared !== undefined) {
      for (const header of declared.headers) yield* this.#header(operation, header, exchange);
      yield* this.#body(operation, declared, exchange);
    } else
      yield candidateOf('response-status', operation, String(status), {
        title: `Status ${status} is not declared`,
        expected: `one of ${operation.responses.map((one) => one.status).join(', ')}`,
        actual: String(status),
        place: this.#placeOf(operation.node, 'responses'),
      });
  }

  #placeOf(node: object, member?: string): Place | undefined {
    return this.#document.placeOf(node, member);
  }

  *#header(operation: Operation, header: Parameter, { request, response }: Exchange): Generator<Candidate> {
    const { status, headers } = response;
    const { name, node, required, schema } = header;
    const value = headers[name.toLowerCase()];
    const sent = request.headers[name.toLowerCase()];
    // What identifies a request is returned, so that logs can be joined.
    if (/^x-(?:request|correlation)-id$/i.test(name) && sent !== undefined && status < 300 && value !== sent)
      yield candidateOf('response-header', operation, `${status} ${name} of the request`, {
        title: `The header ${name} in ${status} is not that of the request`,
        expected: sent,
        actual: value ?? 'none',
        place: this.#placeOf(node),
      });
    // `content` declares the media type; OpenAPI ignores this header.
    if (name.toLowerCase() === 'content-type' || (value === undefined && !required)) return;
    if (value === undefined)
      return yield candidateOf('response-header-missing', operation, `${status} ${name}`, {
        title: `The header ${name} is missing in ${status}`,
        actual: `no ${name}`,
        place: this.#placeOf(node, 'required'),
      });
    const [breach] = this.#validators.breaches(
      schema,
      fromText({ document: this.#document, validators: this.#validators }, header, value),
      'response',
    );
    if (breach !== undefined)
      yield candidateOf('response-header', operation, `${status} ${name} ${breach.keyword}`, {
        title: `The header ${name} in ${status} ${breach.message}`,
        expected: breach.message,
        actual: value,
        place: breach.place ?? this.#placeOf(node, 'schema'),
      });
  }

  *#body(operation: Operation, declared: DeclaredResponse, { request, response }: Exchange): Generator<Candidate> {
    const { status, headers, mediaType, text } = response;
    const isEmpty = text === '';
    const mustBeEmpty = request.method === 'HEAD' || status === 204 || status === 304;
    if (mustBeEmpty || declared.contents.length === 0) {
      const announced = status === 204 && Number(headers['content-length'] ?? '0') > 0;
      if (!isEmpty || announced)
        yield candidateOf('response-body-unexpected', operation, String(status), {
          title: `${status} has a body, but none is declared`,
          actual: isEmpty ? `Content-Length: ${headers['content-length']}` : cut(text, 300),
          place: this.#placeOf(declared.node),
        });
      return;
    }
    const content = contentFor(declared, mediaType);
    const isOfOtherCharset = content !== undefined && hasOtherCharset(content, headers['content-type'] ?? '');
    if (content !== undefined && isStream(mediaType)) yield* this.#items(operation, content, response);
    else if (content?.schema !== undefined) {
      const isPartial = selectsProperties(this.#document, operation, request);
      const found = [...this.#content(operation, content, content.schema, response, isPartial)];
      const isOnlyDefault = declared.status === 'default' && operation.responses.every((one) => !/^2/.test(one.status));
      const [breach] = status >= 400 && isOnlyDefault ? found.filter(({ check }) => check === 'response-body') : [];
      // A default without a success beside it is usually the success.
      if (breach !== undefined)
        return yield candidateOf('response-status', operation, String(status), {
          title: `Status ${status} is not declared, and its body is not that of default`,
          expected: `a declared ${status}, or ${breach.expected}`,
          actual: responseText({ response }),
          place: this.#placeOf(operation.node, 'responses'),
        });
      const wrong = found.length > 0 ? this.#wrongIn(operation, request) : [];
      // A server that accepts a wrong value may return it; that it accepts it is the difference.
      for (const one of found)
        if (one.check !== 'response-body' || !wrong.includes(valueText(response.json?.value, one.pointer))) yield one;
    }
    if (content === undefined || isOfOtherCharset)
      yield candidateOf(
        isEmpty ? 'response-body-missing' : 'response-media-type',
        operation,
        `${status} ${mediaType}`,
        {
          title: `${status} has ${isEmpty ? 'no body' : `the media type ${(isOfOtherCharset ? headers['content-type'] : mediaType) || '(none)'}`}`,
          expected: declared.contents.map((one) => one.mediaType).join(', '),
          actual: isEmpty ? 'an empty body' : (headers['content-type'] ?? 'no Content-Type'),
          place: this.#placeOf(declared.node, 'content'),
        },
      );
  }

  /** The items of a stream, by `itemSchema`, or by a schema that is one of an item. */
  *#items(operation: Operation, content: Content, { status, mediaType, text }: ReceivedResponse): Generator<Candidate> {
    const whole = content.schema;
    const isOfItem = [this.#document.object(whole).type].flat().every((type) => type !== 'array' && type !== 'string');
    const schema = content.itemSchema ?? (isOfItem && mediaType !== 'text/event-stream' ? whole : undefined);
    if (schema === undefined) return;
    const place = this.#placeOf(content.node);
    const { parts } = View.of(this.#document, schema).member('data');
    const ofData = parts.map(({ contentSchema }) => contentSchema).find(isObject);
    const found = itemsIn(text, mediaType).flatMap((item, index) => {
      const pointer = `/${index}`;
      const broken = { title: `An item of ${status} is not valid JSON`, actual: `item ${index + 1}`, place, pointer };
      if (item === undefined) return [candidateOf('response-json', operation, `${status} item`, broken)];
      const data = ofData && isObject(item) ? parsedJson(String(item.data)) : undefined;
      const inData = ofData && data ? this.#breaches(operation, status, ofData, data.value) : [];
      return [
        ...this.#breaches(operation, status, schema, item).map((one) => ({
          ...one,
          pointer: `${pointer}${one.pointer ?? ''}`,
        })),
        ...inData.map((one) => ({ ...one, pointer: `${pointer}/data` })),
      ];
    });
    yield* firstOfEach(found);
  }

  *#content(
    operation: Operation,
    { node }: Content,
    schema: JsonObject,
    { status, mediaType, json, text }: ReceivedResponse,
    isPartial: boolean,
  ): Generator<Candidate> {
    if (!isJson(mediaType)) {
      const types = [this.#document.object(schema).type].flat();
      // Text is validated as a string. Other media types have no values that a schema can validate.
      if (mediaType.startsWith('text/') && types.includes('string'))
        yield* this.#breaches(operation, status, schema, text);
      return;
    }
    const place = this.#placeOf(node);
    const broken = { title: `${status} is not valid JSON`, actual: cut(text, 300) || 'an empty body', place };
    if (json === undefined) return yield candidateOf('response-json', operation, String(status), broken);
    const { value } = json;
    yield* this.#breaches(operation, status, schema, value, isPartial);
    yield* firstOfEach([...this.#undeclared(operation, status, schema, value)]);
    // The status in a problem document must equal the status of the response (RFC 9457).
    const stated = mediaType === 'application/problem+json' && isObject(value) ? value.status : undefined;
    if (stated !== undefined && stated !== status)
      yield candidateOf('problem-status', operation, String(status), {
        title: `The problem document of ${status} has another status`,
        expected: `"status": ${status} (RFC 9457, 3.1.2)`,
        actual: `"status": ${jsonText(stated)}`,
        pointer: '/status',
        place,
      });
  }

  #wrongIn(operation: Operation, { body }: Exchange['request']): string[] {
    const schema = sentSchema(operation);
    const sent = body === undefined || schema === undefined ? undefined : parsedJson(body);
    if (sent === undefined || schema === undefined || isDeep(sent.value)) return [];
    const breaches = this.#validators.breaches(schema, sent.value, 'request');
    return breaches.map(({ pointer }) => valueText(sent.value, pointer));
  }

  #breaches(operation: Operation, status: number, schema: JsonObject, value: unknown, isPartial = false): Candidate[] {
    const view = View.of(this.#document, schema);
    const breaches = this.#validators
      .tellingBreaches(schema, value, 'response')
      .filter(({ keyword }) => !isPartial || keyword !== 'required')
      .map(({ pointer, keyword, message, place }) => {
        const where = general(pointer, view);
        return candidateOf('response-body', operation, `${status} ${where} ${keyword}`, {
          title: `${where || 'The body'} in ${status} ${message}`,
          expected: `${pointer || 'the body'} ${message}`,
          actual: cut(jsonText(at(value, pointer)) ?? 'nothing', 300),
          place,
          pointer,
        });
      });
    const isEmpty = isObject(value) && Object.keys(value).length === 0;
    const [first] = isEmpty && breaches.every(({ about }) => about.endsWith(' required')) ? breaches : [];
    if (first === undefined) return firstOfEach(breaches).slice(0, 10);
    const names = breaches.map(({ pointer = '' }) => pointer.slice(1)).join(', ');
    return [
      candidateOf('response-body', operation, `${status} empty`, {
        title: `The body in ${status} is {}, without the required ${names}`,
        actual: '{}',
        place: first.place,
      }),
    ];
  }

  /**
   * Properties that no branch of the schema declares, in objects with declared properties that do not explicitly allow
   * others, and `writeOnly` ones. JSON Schema accepts them, but readers of the contract cannot know them.
   */
  *#undeclared(operation: Operation, status: number, schema: JsonObject, value: unknown): Generator<Candidate> {
    const whole = View.of(this.#document, schema);
    for (const { pointer: parent, object, view } of objectsIn(whole, value))
      for (const [name, member] of Object.entries(object)) {
        const own = view.described(name);
        const hidden = own.parts.find((part) => part.writeOnly === true);
        const described = hidden ?? (own.isEmpty ? closedObject(view) : undefined);
        if (described === undefined) continue;
        const isUnknown = hidden === undefined;
        const pointer = `${parent}/${escapeSegment(name)}`;
        const where = general(pointer, whole);
        const check = isUnknown ? 'response-unknown-property' : 'response-write-only';
        yield candidateOf(check, operation, `${status} ${where}`, {
          title: `${where} in ${status} is ${isUnknown ? 'not in the contract' : 'writeOnly'}`,
          actual: `${pointer}: ${cut(jsonText(member), 300)}`,
          pointer,
          place: this.#placeOf(described, isUnknown ? 'properties' : 'writeOnly'),
        });
      }
  }
}

/** The declared content that matches a media type, exactly or by range. */
export function contentFor(declared: Pick<DeclaredResponse, 'contents'>, mediaType: string): Content | undefined {
  const plain = (type: string) => type.split(';')[0]?.trim().toLowerCase() ?? '';
  const exact = declared.contents.find((content) => plain(content.mediaType) === mediaType);
  if (exact !== undefined || mediaType === '') return exact;
  const [range = ''] = mediaType.split('/');
  return declared.contents.find((content) => [`${range}/*`, '*/*'].includes(plain(content.mediaType)));
}

/** Whether a response has another charset than its media type declares. That of JSON is UTF-8 (RFC 8259, 8.1). */
function hasOtherCharset(declared: Content, contentType: string): boolean {
  const [expected, actual] = [declared.mediaType, contentType].map((type) =>
    /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type)?.[1]?.toLowerCase().replace('-', ''),
  );
  if (isJson(contentType)) return (actual ?? 'utf8') !== (expected ?? 'utf8');
  return expected !== undefined && actual !== expected;
}

/** Replaces indexes in a pointer, and with a view, keys of maps: `/items/3/id` and `/items/7/id` are the same place. */
export function general(pointer: string, view?: View): string {
  let around = view;
  return pointer.replaceAll(/(?<=\/)[^/]*/g, (segment) => {
    const name = unescapeSegment(segment);
    const isIndex = /^\d+$/.test(segment);
    const own = around?.described(name);
    const isKey = own?.isEmpty === false && around?.names.includes(name) === false;
    around = isIndex && around?.items.isEmpty === false ? around.item(Number(segment)) : own;
    return isIndex || isKey ? '*' : segment;
  });
}

/** One candidate for each cause. */
export function firstOfEach(candidates: readonly Candidate[]): Candidate[] {
  return [...new Map(candidates.toReversed().map((one) => [one.cause, one])).values()].reverse();
}

function valueText(whole: unknown, pointer = ''): string {
  return `${pointer.slice(pointer.lastIndexOf('/') + 1)} ${jsonText(at(whole, pointer))}`;
}
