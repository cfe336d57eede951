import type { OpenApiDocument, Place } from '../document/document.ts';
import { addressOf, type DeclaredResponse, type Operation } from '../document/operation.ts';
import type { Exchange } from '../http/call.ts';
import { isObject, type JsonObject, remembered } from '../json.ts';
import { declaredResponseFor } from '../judge/judge.ts';
import type { Coverage, CoverageItem, CoverageKind, Share } from './report.ts';

type Item = Omit<CoverageItem, 'exercised' | 'reason'> & { exercised: boolean };

/** The keywords that a request can violate; a pattern comes before its format. */
const constraints = (
  'type enum const pattern format minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf ' +
  'minItems maxItems uniqueItems minProperties maxProperties required additionalProperties unevaluatedProperties oneOf anyOf'
).split(' ');

export class CoverageBook {
  readonly #document: OpenApiDocument;
  /** By kind, operation and key. Constraints that cannot be violated without each other are one item. */
  readonly #items = new Map<string, Item>();

  constructor(document: OpenApiDocument, operations: readonly Operation[]) {
    this.#document = document;
    for (const operation of operations) this.#declare(operation);
  }

  recordExchange(operation: Operation, { response: { status } }: Exchange): void {
    const declared = declaredResponseFor(operation, status);
    if (declared === undefined) return;
    if (status >= 200 && status < 400) this.#mark('operations', operation, '');
    this.#mark('statuses', operation, declared.status);
  }

  /** Records a constraint that a request violates or tests at its boundary. */
  recordConstraint(operation: Operation, place: Place | undefined): void {
    if (place !== undefined) this.#mark('constraints', operation, keyOf(place));
  }

  coverage(reasonOf: (operation: string) => string | undefined): Coverage {
    const items = [...new Set(this.#items.values())].map((item): CoverageItem => {
      return { ...item, reason: item.exercised ? undefined : (reasonOf(item.operation) ?? reasons[item.kind]) };
    });
    const shareOf = (kind: CoverageKind): Share => {
      const own = items.filter((item) => item.kind === kind);
      return { exercised: own.filter(({ exercised }) => exercised).length, all: own.length };
    };
    const [operations, statuses, constraints] = [shareOf('operations'), shareOf('statuses'), shareOf('constraints')];
    return { items, byKind: { operations, statuses, constraints } };
  }

  #declare(operation: Operation): void {
    const { id, method, node, responses, parameters, body } = operation;
    const document = this.#document;
    this.#add(
      { kind: 'operations', operation: id, name: `${method} ${addressOf(operation)}`, place: document.placeOf(node) },
      '',
    );
    for (const response of responses.filter(isCausedByRequests)) {
      const { status: name } = response;
      this.#add({ kind: 'statuses', operation: id, name, place: document.placeOf(response.node) }, name);
    }
    for (const { in: place, name, schema } of parameters) this.#constrain(id, `${place}.${name}`, schema);
    for (const { schema } of body?.contents ?? []) if (schema !== undefined) this.#constrain(id, 'body', schema);
  }

  #constrain(operation: string, root: string, schema: JsonObject): void {
    const types = new Map<string, string>();
    for (const { keyword, node, pointer } of constraintsOf(this.#document, schema)) {
      const place = this.#document.placeOf(node, keyword);
      if (place === undefined || (root !== 'body' && isKeptByAnyText(node, keyword))) continue;
      const key = keyOf(place);
      const isSpelt = keyword === 'format' && node.pattern !== undefined;
      const pattern = isSpelt ? this.#document.placeOf(node, 'pattern') : undefined;
      // A value of another type violates the types of all parts of its schema, and what violates a pattern violates
      // the format that the pattern spells out.
      const same = keyword === 'type' ? remembered(types, pointer, () => key) : keyOf(pattern ?? place);
      this.#add({ kind: 'constraints', operation, name: `${root}${pointer} ${keyword}`, place }, key, same);
    }
  }

  /** @param same the key of an item that is covered together with this one */
  #add(item: Omit<Item, 'exercised'>, key: string, same = key): void {
    const prefix = `${item.kind} ${item.operation}`;
    const known = this.#items.get(`${prefix} ${same}`) ?? { ...item, exercised: false };
    if (!this.#items.has(`${prefix} ${key}`)) this.#items.set(`${prefix} ${key}`, known);
  }

  #mark(kind: CoverageKind, { id }: Operation, key: string): void {
    const item = this.#items.get(`${kind} ${id} ${key}`);
    if (item !== undefined) item.exercised = true;
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
const maxParameterLength = 8_192;

/** Whether a parameter cannot violate a constraint: all are text, and an empty header is no header. */
function isKeptByAnyText(node: JsonObject, keyword: string): boolean {
  if (keyword === 'type') return [node.type].flat().includes('string');
  if (keyword === 'minLength') return Number(node.minLength) <= 1;
  return keyword === 'maxLength' && Number(node.maxLength) > maxParameterLength;
}

const reasons: Readonly<Record<CoverageKind, string>> = {
  operations: 'no request succeeded',
  statuses: 'no request caused this status',
  constraints: 'no request violated only this constraint',
};

function keyOf({ file, pointer }: Place): string {
  return `${file}${pointer}`;
}
