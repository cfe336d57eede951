import type { OpenApiDocument } from '../../../document/document.ts';
import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import type { JsonObject } from '../../../json.ts';
import { general } from '../../../judge/judge.ts';
import { memberNames, memberOf, partsOf, requestSchema } from '../../../schema/parts.ts';
import { type Difference, differ, valued } from '../observe.ts';
import { isFleeting, isSame, isScalar, unlikes } from './compare.ts';

/** The effect of a write: what was sent, and what a response or a later read shows of it. */

/** The name of a part of a body: `lines.*.price`. */
export function memberAt(pointer: string): string {
  return general(pointer).slice(1).replaceAll('/', '.');
}

/** One difference for each check and part. */
export function once(found: readonly Difference[]): Difference[] {
  return [...new Map(found.map((one) => [`${one.check} ${one.operation.id} ${one.about}`, one])).values()];
}

/** The schemas of the resource if the response wraps it in an object. */
export function innerSchemas(document: OpenApiDocument, schema: JsonObject, shown: JsonObject): JsonObject[] {
  const names = memberNames(document, schema);
  const keys = Object.keys(shown);
  if (keys.length === 0 || keys.some((key) => names.includes(key))) return [schema];
  return names
    .flatMap((name) => memberOf(document, [schema], name))
    .flatMap((one) => [one, ...partsOf(document, one)])
    .slice(0, 4);
}

interface Shown {
  readonly row: JsonObject;
  readonly schema: JsonObject | undefined;
  /** Whether it may omit stored properties, as a response may. */
  readonly isPartial?: boolean;
}

/** The parts of a request that are shown with other values. */
export function notKept(
  document: OpenApiDocument,
  check: CheckName,
  operation: Operation,
  sent: JsonObject,
  { row, schema, isPartial = false }: Shown,
  exchanges: Difference['exchanges'],
): Difference[] {
  const request = requestSchema(operation);
  if (request === undefined || schema === undefined) return [];
  const shown = { value: row, schemas: innerSchemas(document, schema, row) };
  return unlikes(document, { value: sent, schemas: [request] }, shown)
    .filter((one) => !isPartial || one.shown !== undefined)
    .map((one) => {
      const name = memberAt(one.pointer);
      return differ(check, operation, name, { ...valued(name, one.sent, one.shown), node: one.schema, exchanges });
    });
}

/** The properties of the resource in a response that a read after it shows with another value. */
export function otherThanRead(
  document: OpenApiDocument,
  check: CheckName,
  operation: Operation,
  returned: Shown,
  read: Shown,
  exchanges: Difference['exchanges'],
): Difference[] {
  const { row, schema } = returned;
  return memberNames(document, schema)
    .filter((name) => read.schema === undefined || memberOf(document, [read.schema], name).length > 0)
    .filter((name) => !isFleeting.test(name) && isScalar(row[name]) && isScalar(read.row[name]))
    .filter((name) => !isSame(row[name], read.row[name], { name }))
    .map((name) => {
      const [node] = memberOf(document, [schema ?? {}], name);
      return differ(check, operation, name, { ...valued(name, read.row[name], row[name]), node, exchanges });
    });
}
