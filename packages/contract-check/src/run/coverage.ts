import type { OpenApiDocument, Place } from '../document/document.ts';
import { type DeclaredResponse, groupOf, type Operation } from '../document/operation.ts';
import type { Call, Exchange } from '../http/call.ts';
import { isObject, type JsonObject, remembered } from '../json.ts';
import { contentFor, declaredResponseFor } from '../judge/judge.ts';
import { type Coverage, type CoverageItem, type CoverageKind, coverageKinds, type Share } from '../report/report.ts';

interface Item {
  readonly kind: CoverageKind;
  readonly operation: string;
  readonly name: string;
  readonly place: Place | undefined;
  isExercised: boolean;
}

/** The keywords that a request can violate; a pattern comes before its format. */
const constraints = (
  'type enum const pattern format minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf ' +
  'minItems maxItems uniqueItems minProperties maxProperties required additionalProperties unevaluatedProperties oneOf anyOf'
).split(' ');

/** Tracks which parts of the contract the run exercised. */
export class CoverageBook {
  readonly #document: OpenApiDocument;
  /** By kind, operation and key. Constraints that cannot be violated without each other are one item. */
  readonly #items = new Map<string, Item>();

  constructor(document: OpenApiDocument, operations: readonly Operation[]) {
    this.#document = document;
    for (const operation of operations) this.#declare(operation);
  }

  /** Records what an exchange covers. */
  recordExchange(call: Call, exchange: Exchange): void {
    const { operation } = call;
    const { status, mediaType } = exchange.response;
    const declared = declaredResponseFor(operation, status);
    if (declared !== undefined) {
      if (status >= 200 && status < 400) this.#mark('operation', operation.id, '');
      this.#mark('status', operation.id, declared.status);
      const content = contentFor(declared, mediaType);
      if (content !== undefined) this.#mark('mediaType', operation.id, `${declared.status} ${content.mediaType}`);
    }
    if (status < 200 || status >= 400) return;
    for (const parameter of operation.parameters) {
      const { name, in: place } = parameter;
      // The identity adds headers to every request.
      const isAdded = place === 'header' && exchange.request.headers[name.toLowerCase()] !== undefined;
      if (isAdded || call[groupOf(parameter)][name] !== undefined)
        this.#mark('parameter', operation.id, `${place}.${name}`);
    }
  }

  /** Records a constraint that a request violates or tests at its boundary. */
  recordConstraint(operation: Operation, place: Place | undefined, value?: unknown): void {
    if (place === undefined) return;
    this.#mark('constraint', operation.id, keyOf(place));
    if (value !== undefined) this.#mark('enum', operation.id, `${keyOf(place)} ${JSON.stringify(value)}`);
  }

  coverage(reasonOf: (operation: string) => string | undefined): Coverage {
    const items = [...new Set(this.#items.values())].map(({ isExercised: exercised, ...item }): CoverageItem => {
      const reason = exercised ? undefined : (reasonOf(item.operation) ?? reasons[item.kind]);
      return { ...item, exercised, reason };
    });
    const share = (chosen: readonly CoverageItem[]): Share => ({
      exercised: chosen.filter(({ exercised }) => exercised).length,
      all: chosen.length,
    });
    const byKind = Object.fromEntries(
      coverageKinds.map((kind) => [kind, share(items.filter((item) => item.kind === kind))]),
    ) as Record<CoverageKind, Share>;
    return { items, byKind, total: share(items) };
  }

  #declare(operation: Operation): void {
    const { id } = operation;
    const document = this.#document;
    const add = (kind: CoverageKind, name: string, place: Place | undefined, key = name, same = key) => {
      const full = `${kind} ${id} ${key}`;
      const item = { kind, operation: id, name, place, isExercised: false };
      if (!this.#items.has(full)) this.#items.set(full, this.#items.get(`${kind} ${id} ${same}`) ?? item);
    };
    const constrain = (root: string, schema: JsonObject) => {
      const types = new Map<string, string>();
      for (const { keyword, node, pointer } of constraintsOf(document, schema)) {
        const place = document.placeOf(node, keyword);
        if (place === undefined || (root !== 'body' && isKeptByAnyText(node, keyword))) continue;
        const key = keyOf(place);
        const isSpelt = keyword === 'format' && node.pattern !== undefined;
        const pattern = isSpelt ? document.placeOf(node, 'pattern') : undefined;
        // A value of another type violates the types of all parts of its schema, and what violates a pattern violates
        // the format that the pattern spells out.
        const same = keyword === 'type' ? remembered(types, pointer, () => key) : keyOf(pattern ?? place);
        add('constraint', `${root}${pointer} ${keyword}`, place, key, same);
        const allowed = keyword === 'enum' && Array.isArray(node.enum) ? node.enum : [];
        for (const text of allowed.map((one) => JSON.stringify(one)))
          add('enum', `${root}${pointer} ${text}`, place, `${key} ${text}`);
      }
    };
    add('operation', `${operation.method} ${operation.path}`, document.placeOf(operation.node), '');
    for (const { status, contents, node } of operation.responses.filter(isCausedByRequests)) {
      add('status', status, document.placeOf(node));
      for (const content of contents)
        add('mediaType', `${status} ${content.mediaType}`, document.placeOf(content.node));
    }
    for (const { in: place, name, node, schema } of operation.parameters) {
      add('parameter', `${place}.${name}`, document.placeOf(node));
      constrain(`${place}.${name}`, schema);
    }
    for (const { schema } of operation.body?.contents ?? []) if (schema !== undefined) constrain('body', schema);
  }

  #mark(kind: CoverageKind, operation: string, key: string): void {
    const item = this.#items.get(`${kind} ${operation} ${key}`);
    if (item !== undefined) item.isExercised = true;
  }
}

interface Constraint {
  readonly node: JsonObject;
  readonly keyword: string;
  readonly pointer: string;
}

/** Every constraint of a schema once, also if the schema is recursive. */
function* constraintsOf(
  document: OpenApiDocument,
  node: JsonObject,
  pointer = '',
  seen = new Set<object>(),
): Generator<Constraint> {
  if (seen.has(node)) return;
  seen.add(node);
  if (node.readOnly === true) return;
  for (const keyword of constraints)
    if (node[keyword] !== undefined && (node[keyword] !== true || keyword === 'uniqueItems'))
      yield { node, keyword, pointer };
  // What is below `not` describes values that are rejected: it constrains nothing by itself.
  const inner = [
    ...Object.entries(isObject(node.properties) ? node.properties : {}).map(
      ([name, one]) => [`/${name}`, one] as const,
    ),
    ...['items', 'additionalProperties'].map((key) => ['/*', node[key]] as const),
    ...['allOf', 'oneOf', 'anyOf', 'prefixItems'].flatMap((key) => [node[key]].flat().map((one) => ['', one] as const)),
    ...document.referred(node).map((target) => ['', target] as const),
  ];
  for (const [at, one] of inner) if (isObject(one)) yield* constraintsOf(document, one, `${pointer}${at}`, seen);
}

/** Faults of a server and limits on the traffic of all callers do not depend on what a request contains. */
function isCausedByRequests({ status }: DeclaredResponse): boolean {
  return !status.startsWith('5') && status !== '429';
}

/** Longer parameters do not reach a server: Node accepts 16 KiB of headers. */
const longestParameter = 8_192;

/** Whether a parameter cannot violate a constraint: all are text, and an empty header is no header. */
function isKeptByAnyText(node: JsonObject, keyword: string): boolean {
  if (keyword === 'type') return [node.type].flat().includes('string');
  if (keyword === 'minLength') return Number(node.minLength) <= 1;
  return keyword === 'maxLength' && Number(node.maxLength) > longestParameter;
}

const reasons: Readonly<Record<CoverageKind, string>> = {
  operation: 'no request succeeded',
  status: 'no request caused this status',
  mediaType: 'no response had this media type',
  parameter: 'no successful request had it',
  constraint: 'no request violated only this constraint',
  enum: 'no request had this value',
};

function keyOf({ file, pointer }: Place): string {
  return `${file}${pointer}`;
}
