import type { OpenApiDocument, Place } from '../document/document.ts';
import type { Operation } from '../document/operation.ts';
import type { Call, Exchange } from '../http/call.ts';
import { isObject, type JsonObject } from '../json.ts';
import { contentFor, declaredResponseFor } from '../judge/judge.ts';
import { type Coverage, type CoverageItem, type CoverageKind, coverageKinds, type Share } from '../report/report.ts';

interface Item {
  readonly kind: CoverageKind;
  readonly operation: string;
  readonly name: string;
  readonly place: Place | undefined;
  isExercised: boolean;
}

/** The keywords that a request can violate. */
const constraints = (
  'type enum const format pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf ' +
  'minItems maxItems uniqueItems minProperties maxProperties required additionalProperties unevaluatedProperties oneOf anyOf'
).split(' ');

/** Tracks which parts of the contract the run exercised. */
export class CoverageBook {
  readonly #document: OpenApiDocument;
  readonly #items = new Map<string, Item>();
  /** Constraints that cannot be violated without another one, by operation and key. */
  readonly #same = new Map<string, string>();

  constructor(document: OpenApiDocument, operations: readonly Operation[]) {
    this.#document = document;
    for (const operation of operations) this.#declare(operation);
  }

  /** Records what an exchange covers. */
  recordExchange({ operation, path, query, headers, cookies }: Call, exchange: Exchange): void {
    const { status, mediaType } = exchange.response;
    const declared = declaredResponseFor(operation, status);
    if (declared !== undefined) {
      if (status >= 200 && status < 400) this.#mark('operation', operation.id, '');
      this.#mark('status', operation.id, declared.status);
      const content = contentFor(declared, mediaType);
      if (content !== undefined) this.#mark('mediaType', operation.id, `${declared.status} ${content.mediaType}`);
    }
    if (status >= 200 && status < 400) {
      // Includes headers that the identity adds to every request.
      for (const { name, in: place } of operation.parameters) {
        if (place === 'header' && exchange.request.headers[name.toLowerCase()] !== undefined) {
          this.#mark('parameter', operation.id, `${place}.${name}`);
        }
      }
      for (const [place, values] of Object.entries({ path, query, header: headers, cookie: cookies })) {
        for (const [name, value] of Object.entries(values)) {
          if (value !== undefined) this.#mark('parameter', operation.id, `${place}.${name}`);
        }
      }
    }
  }

  /** Records a constraint that a request violates or tests at its boundary. */
  recordConstraint(operation: Operation, place: Place | undefined, value?: unknown): void {
    if (place === undefined) return;
    const key = keyOf(place);
    this.#mark('constraint', operation.id, this.#same.get(`${operation.id} ${key}`) ?? key);
    if (value !== undefined) this.#mark('enum', operation.id, `${keyOf(place)} ${JSON.stringify(value)}`);
  }

  coverage(reasonOf: (operation: string) => string | undefined): Coverage {
    const items: CoverageItem[] = [...this.#items.values()].map((item) => ({
      kind: item.kind,
      operation: item.operation,
      name: item.name,
      exercised: item.isExercised,
      reason: item.isExercised ? undefined : (reasonOf(item.operation) ?? reasons[item.kind]),
      place: item.place,
    }));
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
    const add = (kind: CoverageKind, key: string, name: string, place: Place | undefined) => {
      const full = `${kind} ${id} ${key}`;
      if (!this.#items.has(full)) this.#items.set(full, { kind, operation: id, name, place, isExercised: false });
    };
    add('operation', '', `${operation.method} ${operation.path}`, this.#document.placeOf(operation.node));
    for (const response of operation.responses.filter(({ status }) => isCausedByRequests(status))) {
      add('status', response.status, response.status, this.#document.placeOf(response.node));
      for (const { mediaType, node } of response.contents) {
        add(
          'mediaType',
          `${response.status} ${mediaType}`,
          `${response.status} ${mediaType}`,
          this.#document.placeOf(node),
        );
      }
    }
    const constrain = (root: string, schema: JsonObject) => {
      const types = new Map<string, string>();
      for (const { keyword, node, pointer } of this.#constraintsOf(schema)) {
        const place = this.#document.placeOf(node, keyword);
        if (place === undefined || (root !== 'body' && isKeptByAnyText(node, keyword))) continue;
        const key = keyOf(place);
        // A value of another type violates the types of all parts of its schema.
        const first = keyword === 'type' ? types.get(pointer) : undefined;
        if (keyword === 'type') types.set(pointer, first ?? key);
        // What violates a pattern violates the format that the pattern spells out.
        const pattern =
          keyword === 'format' && node.pattern !== undefined ? this.#document.placeOf(node, 'pattern') : undefined;
        const same = first ?? (pattern === undefined ? undefined : keyOf(pattern));
        if (same !== undefined && same !== key) {
          this.#same.set(`${id} ${key}`, same);
          continue;
        }
        add('constraint', key, `${root}${pointer} ${keyword}`, place);
        if (keyword === 'enum' && Array.isArray(node.enum)) {
          for (const value of node.enum) {
            const text = JSON.stringify(value);
            add('enum', `${keyOf(place)} ${text}`, `${root}${pointer} ${text}`, place);
          }
        }
      }
    };
    for (const parameter of operation.parameters) {
      add(
        'parameter',
        `${parameter.in}.${parameter.name}`,
        `${parameter.in}.${parameter.name}`,
        this.#document.placeOf(parameter.node),
      );
      constrain(`${parameter.in}.${parameter.name}`, parameter.schema);
    }
    for (const { schema } of operation.body?.contents ?? []) if (schema !== undefined) constrain('body', schema);
  }

  /** Every constraint of a schema once, also if the schema is recursive. */
  #constraintsOf(root: JsonObject): { node: JsonObject; keyword: string; pointer: string }[] {
    const found: { node: JsonObject; keyword: string; pointer: string }[] = [];
    const seen = new Set<object>();
    const visit = (reference: JsonObject, pointer: string): void => {
      const node = this.#document.object(reference);
      if (node !== reference) visitOwn(reference, pointer);
      visitOwn(node, pointer);
    };
    const visitOwn = (node: JsonObject, pointer: string): void => {
      if (seen.has(node)) return;
      seen.add(node);
      if (node.readOnly === true) return;
      for (const keyword of constraints) {
        if (node[keyword] === undefined || (node[keyword] === true && keyword !== 'uniqueItems')) continue;
        found.push({ node, keyword, pointer });
      }
      for (const [name, member] of Object.entries(isObject(node.properties) ? node.properties : {})) {
        if (isObject(member)) visit(member, `${pointer}/${name}`);
      }
      // What is below `not` describes values that are rejected: it constrains nothing by itself.
      for (const key of ['items', 'additionalProperties']) if (isObject(node[key])) visit(node[key], `${pointer}/*`);
      for (const key of ['allOf', 'oneOf', 'anyOf', 'prefixItems']) {
        if (Array.isArray(node[key])) for (const part of node[key].filter(isObject)) visit(part, pointer);
      }
    };
    visit(root, '');
    return found;
  }

  #mark(kind: CoverageKind, operation: string, key: string): void {
    const item = this.#items.get(`${kind} ${operation} ${key}`);
    if (item !== undefined) item.isExercised = true;
  }
}

/** Faults of a server and limits on the traffic of all callers do not depend on what a request contains. */
function isCausedByRequests(status: string): boolean {
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
