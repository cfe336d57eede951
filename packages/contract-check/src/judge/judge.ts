import type { OpenApiDocument, Place } from '../document/document.ts';
import type { Content, DeclaredResponse, Operation, Parameter } from '../document/operation.ts';
import type { Finding } from '../finding/finding.ts';
import type { Exchange } from '../http/call.ts';
import { noResponse } from '../http/client.ts';
import { isJson } from '../http/serialize.ts';
import { at, isObject } from '../json.ts';
import type { Breach, Validators } from '../schema/validators.ts';
import { undeclaredPropertiesIn } from './known.ts';

/** A finding that is not confirmed yet. */
export type Candidate = Omit<Finding, 'exchanges' | 'also' | 'places'>;

/** The declared response for a status: the status itself, its class, or the default. */
export function declaredResponseFor(operation: Operation, status: number): DeclaredResponse | undefined {
  const named = (name: string) => operation.responses.find((response) => response.status.toUpperCase() === name);
  return named(String(status)) ?? named(`${Math.floor(status / 100)}XX`) ?? named('DEFAULT');
}

/** Whether the operation is not implemented, so that nothing else of it can be checked. */
export function isNotImplemented(exchange: Exchange): boolean {
  return exchange.response.status === 501;
}

/**
 * Whether a request was rejected because its URL and headers exceed the 8,000 octets that every server must support
 * (RFC 9110, 4.1). Often a proxy in front of the server rejects it.
 */
function isRejectedAsLong({ request, response }: Exchange): boolean {
  const length = request.url.length + JSON.stringify(request.headers).length;
  return length > 8000 && [414, 431].includes(response.status);
}

/** Checks a response against everything that the contract declares about it. */
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
    const { operation, response } = exchange;
    const fault = this.#fault(exchange);
    if (fault !== undefined) return [fault];
    if (operation === undefined) return [];
    if (isNotImplemented(exchange)) return this.#allowsUnimplemented ? [] : [this.#unimplemented(operation)];
    const declared = declaredResponseFor(operation, response.status);
    if (declared === undefined) return isRejectedAsLong(exchange) ? [] : [this.#undeclaredStatus(operation, exchange)];
    return [...this.#headers(operation, declared, exchange), ...this.#body(operation, declared, exchange)];
  }

  /** Missing responses and server errors, which no request justifies. */
  #fault({ operation, request, response }: Exchange): Candidate | undefined {
    const id = operation?.id ?? `${request.method} ${new URL(request.url).pathname}`;
    if (response.status === noResponse) {
      return {
        check: 'no-response',
        category: 'robustness',
        operation: id,
        title: 'The server does not respond',
        expected: 'a response to every request',
        actual: response.text,
        place: undefined,
        fix: 'Find what closes the connection or hangs.',
        cause: `no-response ${id}`,
      };
    }
    if (response.status < 500 || response.status === 501) return undefined;
    if (response.status === 503 && response.headers['retry-after'] !== undefined) return undefined;
    return {
      check: 'server-error',
      category: 'robustness',
      operation: id,
      title: `The server fails with ${response.status}`,
      expected: 'no 5xx; an invalid request returns a 4xx',
      actual: `${response.status} ${response.text.slice(0, 200)}`,
      place: undefined,
      fix: 'Handle the input, or reject it with a declared 4xx.',
      cause: `server-error ${id} ${response.status}`,
    };
  }

  #unimplemented(operation: Operation): Candidate {
    return {
      check: 'not-implemented',
      category: 'responses',
      operation: operation.id,
      title: 'The operation is not implemented',
      expected: 'a response that the operation declares',
      actual: '501',
      place: this.#document.placeOf(operation.node),
      fix: 'Implement the operation, or remove it from the contract. --allow-unimplemented accepts it.',
      cause: `not-implemented ${operation.id}`,
    };
  }

  #undeclaredStatus(operation: Operation, { response }: Exchange): Candidate {
    const declared = operation.responses.map(({ status }) => status).join(', ');
    return {
      check: 'response-status',
      category: 'responses',
      operation: operation.id,
      title: `Status ${response.status} is not declared`,
      expected: `one of ${declared}`,
      actual: String(response.status),
      place: this.#document.placeOf(operation.node, 'responses'),
      fix: `Declare ${response.status} with its body, or return one of the declared statuses.`,
      cause: `response-status ${operation.id} ${response.status}`,
    };
  }

  #headers(operation: Operation, declared: DeclaredResponse, { response }: Exchange): Candidate[] {
    return declared.headers.flatMap((header): Candidate[] => {
      // `content` declares the media type; OpenAPI ignores this header.
      if (header.name.toLowerCase() === 'content-type') return [];
      const value = response.headers[header.name.toLowerCase()];
      const base = {
        category: 'responses' as const,
        operation: operation.id,
        place: this.#document.placeOf(header.node, value === undefined ? 'required' : 'schema'),
      };
      if (value === undefined) {
        if (!header.required) return [];
        return [
          {
            ...base,
            check: 'response-header-missing',
            title: `The header ${header.name} is missing in ${response.status}`,
            expected: `${header.name}, which is required`,
            actual: 'no header of this name',
            fix: `Send ${header.name}, or declare it as optional.`,
            cause: `response-header-missing ${operation.id} ${response.status} ${header.name}`,
          },
        ];
      }
      const breaches = this.#validators.breaches(header.schema, this.#typed(header, value), 'response');
      return breaches.slice(0, 1).map((breach) => ({
        ...base,
        place: breach.place ?? base.place,
        check: 'response-header',
        title: `The header ${header.name} in ${response.status} ${breach.message}`,
        expected: breach.message,
        actual: value,
        fix: `Send ${header.name} as declared, or correct its schema.`,
        cause: `response-header ${operation.id} ${response.status} ${header.name} ${breach.keyword}`,
      }));
    });
  }

  /** Parses the text of a header into the type of its schema. */
  #typed(header: Parameter, text: string): unknown {
    const schema = this.#document.object(header.schema);
    const types = [schema.type].flat();
    if (header.mediaType !== undefined && isJson(header.mediaType)) return parsed(text) ?? text;
    if (types.includes('array')) {
      const items = isObject(schema.items) ? schema.items : {};
      return text === '' ? [] : text.split(',').map((item) => this.#typed({ ...header, schema: items }, item.trim()));
    }
    if ((types.includes('integer') || types.includes('number')) && /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text)) {
      return Number(text);
    }
    if (types.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true';
    return text;
  }

  #body(operation: Operation, declared: DeclaredResponse, exchange: Exchange): Candidate[] {
    const { response, request } = exchange;
    const isEmpty = response.text === '';
    const base = { category: 'responses' as const, operation: operation.id };
    const mustBeEmpty = request.method === 'HEAD' || response.status === 204 || response.status === 304;
    if (mustBeEmpty || declared.contents.length === 0) {
      const announced = response.status === 204 && Number(response.headers['content-length'] ?? '0') > 0;
      if (isEmpty && !announced) return [];
      return [
        {
          ...base,
          check: 'response-body-unexpected',
          title: `${response.status} has a body, but none is declared`,
          expected: 'no body',
          actual: isEmpty ? `Content-Length: ${response.headers['content-length']}` : cut(response.text),
          place: this.#document.placeOf(declared.node),
          fix: 'Send no body, or declare its media type and schema.',
          cause: `response-body-unexpected ${operation.id} ${response.status}`,
        },
      ];
    }
    const content = contentFor(declared, response.mediaType);
    if (content === undefined) {
      const types = declared.contents.map(({ mediaType }) => mediaType).join(', ');
      return [
        {
          ...base,
          check: isEmpty ? 'response-body-missing' : 'response-media-type',
          title: isEmpty
            ? `${response.status} has no body`
            : `${response.status} has the media type ${response.mediaType || '(none)'}`,
          expected: types,
          actual: isEmpty ? 'an empty body' : (response.headers['content-type'] ?? 'no Content-Type'),
          place: this.#document.placeOf(declared.node, 'content'),
          fix: `Return ${types}, or declare ${response.mediaType || 'a response without a body'}.`,
          cause: `response-media-type ${operation.id} ${response.status} ${response.mediaType}`,
        },
      ];
    }
    if (content.schema === undefined) return [];
    return this.#content(operation, content, content.schema, exchange);
  }

  #content(
    operation: Operation,
    content: Content,
    schema: NonNullable<Content['schema']>,
    { response }: Exchange,
  ): Candidate[] {
    const base = { category: 'responses' as const, operation: operation.id };
    if (!isJson(response.mediaType)) {
      const types = [this.#document.object(schema).type].flat();
      // Text is validated as a string. Other media types have no values that a schema can validate.
      if (!response.mediaType.startsWith('text/') || !types.includes('string')) return [];
      return this.#breaches(operation, response.status, schema, response.text);
    }
    if (response.json === undefined) {
      return [
        {
          ...base,
          check: 'response-json',
          title: `${response.status} is not valid JSON`,
          expected: `a body of ${response.mediaType}`,
          actual: cut(response.text) || 'an empty body',
          place: this.#document.placeOf(content.node),
          fix: 'Send valid JSON.',
          cause: `response-json ${operation.id} ${response.status}`,
        },
      ];
    }
    const { value } = response.json;
    return [
      ...this.#breaches(operation, response.status, schema, value),
      ...this.#undeclaredProperties(operation, response.status, schema, value),
      ...this.#problem(operation, content, response.status, value, response.mediaType),
    ];
  }

  #breaches(operation: Operation, status: number, schema: NonNullable<Content['schema']>, value: unknown): Candidate[] {
    return onePerCause(this.#validators.tellingBreaches(schema, value, 'response')).map((breach) => ({
      check: 'response-body',
      category: 'responses' as const,
      operation: operation.id,
      title: `${breach.pointer === '' ? 'The body' : general(breach.pointer)} in ${status} ${breach.message}`,
      expected: `${breach.pointer || 'the body'} ${breach.message}`,
      actual: cut(JSON.stringify(at(value, breach.pointer)) ?? 'nothing'),
      place: breach.place,
      pointer: breach.pointer,
      fix: 'Return what the schema declares, or correct the schema.',
      cause: `response-body ${operation.id} ${status} ${general(breach.pointer)} ${breach.keyword}`,
    }));
  }

  #undeclaredProperties(
    operation: Operation,
    status: number,
    schema: NonNullable<Content['schema']>,
    value: unknown,
  ): Candidate[] {
    const found = undeclaredPropertiesIn(this.#document, schema, value);
    const reported = new Set<string>();
    return found.flatMap(({ pointer, why, schema: described }) => {
      const name = general(pointer);
      if (reported.has(name)) return [];
      reported.add(name);
      return [
        {
          check: why === 'unknown' ? 'response-unknown-property' : 'response-write-only',
          category: 'responses' as const,
          operation: operation.id,
          title:
            why === 'unknown' ? `${name} in ${status} is not in the contract` : `${name} in ${status} is writeOnly`,
          expected:
            why === 'unknown' ? 'only properties that the schema declares' : 'no writeOnly properties in responses',
          actual: `${pointer}: ${cut(JSON.stringify(at(value, pointer)))}`,
          pointer,
          place: this.#document.placeOf(described, why === 'unknown' ? 'properties' : 'writeOnly'),
          fix:
            why === 'unknown'
              ? 'Declare the property, remove it from the response, or set `additionalProperties: true`.'
              : 'Remove the property from responses.',
          cause: `response-${why} ${operation.id} ${status} ${name}`,
        },
      ];
    });
  }

  /** The status in a problem document must equal the status of the response (RFC 9457). */
  #problem(operation: Operation, content: Content, status: number, value: unknown, mediaType: string): Candidate[] {
    if (mediaType !== 'application/problem+json' || !isObject(value)) return [];
    if (value.status === undefined || value.status === status) return [];
    return [
      {
        check: 'problem-status',
        category: 'responses',
        operation: operation.id,
        title: `The problem document of ${status} has another status`,
        expected: `"status": ${status} (RFC 9457, 3.1.2)`,
        actual: `"status": ${JSON.stringify(value.status)}`,
        pointer: '/status',
        place: this.#place(content),
        fix: 'Use the status of the response in the problem document.',
        cause: `problem-status ${operation.id} ${status}`,
      },
    ];
  }

  #place(content: Content): Place | undefined {
    return this.#document.placeOf(content.node);
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

/** Replaces indexes in a pointer: `/items/3/id` and `/items/7/id` are the same place. */
export function general(pointer: string): string {
  return pointer.replaceAll(/\/\d+(?=\/|$)/g, '/*');
}

function onePerCause(breaches: readonly Breach[]): Breach[] {
  const byCause = new Map<string, Breach>();
  for (const breach of breaches) {
    const cause = `${general(breach.pointer)} ${breach.keyword}`;
    if (!byCause.has(cause)) byCause.set(cause, breach);
  }
  return [...byCause.values()].slice(0, 10);
}

function cut(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)} …` : text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
