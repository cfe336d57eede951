import type { OpenApiDocument, Place } from '../document/document.ts';
import type { Answer, Content, Operation, Parameter } from '../document/operation.ts';
import type { Finding } from '../finding/finding.ts';
import type { Exchange } from '../http/call.ts';
import { noAnswer } from '../http/client.ts';
import { isJson } from '../http/serialize.ts';
import { at, isObject } from '../json.ts';
import type { Breach, Validators } from '../schema/validators.ts';
import { strangersIn } from './known.ts';

/** A finding that is still to be confirmed. */
export type Candidate = Omit<Finding, 'exchanges' | 'also'>;

/** What the contract declares for a status: the status itself, its class, or the default. */
export function answerFor(operation: Operation, status: number): Answer | undefined {
  const named = (name: string) => operation.answers.find((answer) => answer.status.toUpperCase() === name);
  return named(String(status)) ?? named(`${Math.floor(status / 100)}XX`) ?? named('DEFAULT');
}

/** Whether the operation says of itself that it is still to be written: no difference, but nothing to check either. */
export function isNotImplemented(exchange: Exchange): boolean {
  return exchange.answer.status === 501;
}

/**
 * Whether the head of a request was refused because it is longer than a server must take: at least 8,000 octets
 * (RFC 9110, 4.1). Such an answer comes from what stands before the server as often as from itself.
 */
function isRefusedAsLong({ request, answer }: Exchange): boolean {
  const length = request.url.length + JSON.stringify(request.headers).length;
  return length > 8000 && [414, 431].includes(answer.status);
}

/** Judges one answer of an operation by all that the contract says of answers. */
export class Judge {
  readonly #document: OpenApiDocument;
  readonly #validators: Validators;

  constructor(document: OpenApiDocument, validators: Validators) {
    this.#document = document;
    this.#validators = validators;
  }

  /** Every way in which the answer differs from what its operation declares. */
  judge(exchange: Exchange): Candidate[] {
    const { operation, answer } = exchange;
    const fault = this.#fault(exchange);
    if (fault !== undefined) return [fault];
    if (operation === undefined || isNotImplemented(exchange)) return [];
    const declared = answerFor(operation, answer.status);
    if (declared === undefined) return isRefusedAsLong(exchange) ? [] : [this.#undeclaredStatus(operation, exchange)];
    return [...this.#headers(operation, declared, exchange), ...this.#body(operation, declared, exchange)];
  }

  /** An answer that no request may be given: none at all, or a fault of the server. */
  #fault({ operation, request, answer }: Exchange): Candidate | undefined {
    const id = operation?.id ?? `${request.method} ${new URL(request.url).pathname}`;
    if (answer.status === noAnswer) {
      return {
        check: 'no-answer',
        category: 'robustness',
        operation: id,
        title: 'The server gives no answer',
        expected: 'an answer to every request',
        actual: answer.text,
        place: undefined,
        fix: 'Find what breaks the connection or never ends.',
        cause: `no-answer ${id}`,
      };
    }
    if (answer.status < 500 || answer.status === 501) return undefined;
    if (answer.status === 503 && answer.headers['retry-after'] !== undefined) return undefined;
    return {
      check: 'server-error',
      category: 'robustness',
      operation: id,
      title: `The server fails with ${answer.status}`,
      expected: 'no request makes the server fail: what is wrong with a request is a 4xx',
      actual: `${answer.status} ${answer.text.slice(0, 200)}`,
      place: undefined,
      fix: 'Handle the input, or refuse it with a declared 4xx.',
      cause: `server-error ${id} ${answer.status}`,
    };
  }

  #undeclaredStatus(operation: Operation, { answer }: Exchange): Candidate {
    const declared = operation.answers.map(({ status }) => status).join(', ');
    return {
      check: 'answer-status',
      category: 'answers',
      operation: operation.id,
      title: `Status ${answer.status} is not declared`,
      expected: `one of ${declared}`,
      actual: String(answer.status),
      place: this.#document.placeOf(operation.node, 'responses'),
      fix: `Declare ${answer.status} with its body, or answer one of the declared statuses.`,
      cause: `answer-status ${operation.id} ${answer.status}`,
    };
  }

  #headers(operation: Operation, declared: Answer, { answer }: Exchange): Candidate[] {
    return declared.headers.flatMap((header) => {
      // The media type is declared by `content`; the specification has this header ignored.
      if (header.name.toLowerCase() === 'content-type') return [];
      const value = answer.headers[header.name.toLowerCase()];
      const base = {
        category: 'answers' as const,
        operation: operation.id,
        place: this.#document.placeOf(header.node, value === undefined ? 'required' : 'schema'),
      };
      if (value === undefined) {
        if (!header.required) return [];
        return [
          {
            ...base,
            check: 'answer-header-missing',
            title: `The header ${header.name} is missing in ${answer.status}`,
            expected: `${header.name}, which is required`,
            actual: 'no such header',
            fix: `Send ${header.name}, or declare it as not required.`,
            cause: `answer-header-missing ${operation.id} ${answer.status} ${header.name}`,
          },
        ];
      }
      const breaches = this.#validators.breaches(header.schema, this.#typed(header, value), 'answer');
      return breaches.slice(0, 1).map((breach) => ({
        ...base,
        place: breach.place ?? base.place,
        check: 'answer-header',
        title: `The header ${header.name} in ${answer.status} ${breach.message}`,
        expected: breach.message,
        actual: value,
        fix: `Send ${header.name} as it is declared, or declare what is sent.`,
        cause: `answer-header ${operation.id} ${answer.status} ${header.name} ${breach.keyword}`,
      }));
    });
  }

  /** A header's text as the value that its schema types. */
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

  #body(operation: Operation, declared: Answer, exchange: Exchange): Candidate[] {
    const { answer, request } = exchange;
    const isEmpty = answer.text === '';
    const base = { category: 'answers' as const, operation: operation.id };
    const mustBeEmpty = request.method === 'HEAD' || answer.status === 204 || answer.status === 304;
    if (mustBeEmpty || declared.contents.length === 0) {
      const announced = answer.status === 204 && Number(answer.headers['content-length'] ?? '0') > 0;
      if (isEmpty && !announced) return [];
      return [
        {
          ...base,
          check: 'answer-body-unexpected',
          title: `${answer.status} has a body, and none is declared`,
          expected: 'no body',
          actual: isEmpty ? `Content-Length: ${answer.headers['content-length']}` : cut(answer.text),
          place: this.#document.placeOf(declared.node),
          fix: 'Send no body, or declare its media type and schema.',
          cause: `answer-body-unexpected ${operation.id} ${answer.status}`,
        },
      ];
    }
    const content = contentFor(declared, answer.mediaType);
    if (content === undefined) {
      const types = declared.contents.map(({ mediaType }) => mediaType).join(', ');
      return [
        {
          ...base,
          check: isEmpty ? 'answer-body-missing' : 'answer-media-type',
          title: isEmpty
            ? `${answer.status} has no body`
            : `${answer.status} comes as ${answer.mediaType || 'no media type'}`,
          expected: types,
          actual: isEmpty ? 'an empty body' : (answer.headers['content-type'] ?? 'no Content-Type'),
          place: this.#document.placeOf(declared.node, 'content'),
          fix: `Answer with ${types}, or declare ${answer.mediaType || 'an answer without a body'}.`,
          cause: `answer-media-type ${operation.id} ${answer.status} ${answer.mediaType}`,
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
    { answer }: Exchange,
  ): Candidate[] {
    const base = { category: 'answers' as const, operation: operation.id };
    if (!isJson(answer.mediaType)) {
      const types = [this.#document.object(schema).type].flat();
      // Text is judged as the string that it is; other media types have no values that a schema could judge.
      if (!answer.mediaType.startsWith('text/') || !types.includes('string')) return [];
      return this.#breaches(operation, answer.status, schema, answer.text);
    }
    if (answer.json === undefined) {
      return [
        {
          ...base,
          check: 'answer-json',
          title: `${answer.status} is not JSON`,
          expected: `a body of ${answer.mediaType}`,
          actual: cut(answer.text) || 'an empty body',
          place: this.#document.placeOf(content.node),
          fix: 'Send JSON.',
          cause: `answer-json ${operation.id} ${answer.status}`,
        },
      ];
    }
    const { value } = answer.json;
    return [
      ...this.#breaches(operation, answer.status, schema, value),
      ...this.#strangers(operation, answer.status, schema, value),
      ...this.#problem(operation, content, answer.status, value, answer.mediaType),
    ];
  }

  #breaches(operation: Operation, status: number, schema: NonNullable<Content['schema']>, value: unknown): Candidate[] {
    const breaches = this.#validators.breaches(schema, value, 'answer');
    // A branch that is not taken tells of itself too; what says that no branch fits is said last, and once.
    const telling = breaches.filter(({ keyword }) => !composites.has(keyword));
    return onePerCause(telling.length > 0 ? telling : breaches).map((breach) => ({
      check: 'answer-body',
      category: 'answers' as const,
      operation: operation.id,
      title: `${breach.pointer === '' ? 'The body' : general(breach.pointer)} in ${status} ${breach.message}`,
      expected: `${breach.pointer || 'the body'} ${breach.message}`,
      actual: cut(JSON.stringify(at(value, breach.pointer)) ?? 'nothing'),
      place: breach.place,
      pointer: breach.pointer,
      fix: 'Answer as the schema says, or correct the schema.',
      cause: `answer-body ${operation.id} ${status} ${general(breach.pointer)} ${breach.keyword}`,
    }));
  }

  #strangers(
    operation: Operation,
    status: number,
    schema: NonNullable<Content['schema']>,
    value: unknown,
  ): Candidate[] {
    const found = strangersIn(this.#document, schema, value);
    const seen = new Set<string>();
    return found.flatMap(({ pointer, why, schema: described }) => {
      const name = general(pointer);
      if (seen.has(name)) return [];
      seen.add(name);
      return [
        {
          check: why === 'unknown' ? 'answer-unknown-property' : 'answer-write-only',
          category: 'answers' as const,
          operation: operation.id,
          title:
            why === 'unknown' ? `${name} in ${status} is not in the contract` : `${name} in ${status} is writeOnly`,
          expected: why === 'unknown' ? 'only properties that the schema names' : 'a property that never comes back',
          actual: `${pointer}: ${cut(JSON.stringify(at(value, pointer)))}`,
          pointer,
          place: this.#document.placeOf(described, why === 'unknown' ? 'properties' : 'writeOnly'),
          fix:
            why === 'unknown'
              ? 'Declare the property, leave it out, or say `additionalProperties: true` where any may come.'
              : 'Leave the property out of answers.',
          cause: `answer-${why} ${operation.id} ${status} ${name}`,
        },
      ];
    });
  }

  /** RFC 9457: the status in a problem document is the status of the answer. */
  #problem(operation: Operation, content: Content, status: number, value: unknown, mediaType: string): Candidate[] {
    if (mediaType !== 'application/problem+json' || !isObject(value)) return [];
    if (value.status === undefined || value.status === status) return [];
    return [
      {
        check: 'problem-status',
        category: 'answers',
        operation: operation.id,
        title: `The problem document of ${status} tells of another status`,
        expected: `"status": ${status} (RFC 9457, 3.1.2)`,
        actual: `"status": ${JSON.stringify(value.status)}`,
        pointer: '/status',
        place: this.#place(content),
        fix: 'Write the status of the answer into the problem document.',
        cause: `problem-status ${operation.id} ${status}`,
      },
    ];
  }

  #place(content: Content): Place | undefined {
    return this.#document.placeOf(content.node);
  }
}

const composites = new Set(['oneOf', 'anyOf', 'if', 'allOf', '$ref']);

/** The content whose media type, or range of media types, an answer's falls into. */
export function contentFor(declared: Pick<Answer, 'contents'>, mediaType: string): Content | undefined {
  const plain = (type: string) => type.split(';')[0]?.trim().toLowerCase() ?? '';
  const exact = declared.contents.find((content) => plain(content.mediaType) === mediaType);
  if (exact !== undefined || mediaType === '') return exact;
  const [range = ''] = mediaType.split('/');
  return declared.contents.find((content) => [`${range}/*`, '*/*'].includes(plain(content.mediaType)));
}

/** A pointer without the numbers of this run: `/items/3/id` and `/items/7/id` are one place. */
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
