import { isObject, type JsonObject, remembered } from '../json.ts';
import type { OpenApiDocument } from './document.ts';

export interface Discriminator {
  readonly propertyName: string;
  /** The property value for each schema, by its object and by every schema in its chain of references. */
  readonly values: readonly (readonly [value: string, schema: JsonObject])[];
  readonly source: JsonObject;
}

/** Whether a schema stands for the children that the mapping of its discriminator names, which refer to it. */
export function isParent({ discriminator, oneOf, anyOf }: JsonObject): boolean {
  return isObject(discriminator) && oneOf === undefined && anyOf === undefined;
}

export function childSchemas(document: OpenApiDocument, parent: JsonObject): JsonObject[] {
  return discriminatorOf(document, parent).flatMap(({ values }) => values.map(([, child]) => child));
}

/** The children of a parent of which one applies: all, or the one that applies already. */
export function childrenOf(
  document: OpenApiDocument,
  source: JsonObject,
  sources: readonly JsonObject[],
): readonly JsonObject[] {
  const children = isParent(source) ? childSchemas(document, source) : [];
  const own = children.find((child) => sources.includes(child));
  return own === undefined ? children : [own];
}

const discriminatorsBySource = new WeakMap<JsonObject, Discriminator[]>();

export function discriminatorOf(document: OpenApiDocument, source: JsonObject): Discriminator[] {
  if (!isObject(source.discriminator)) return [];
  return remembered(discriminatorsBySource, source, () => newDiscriminatorOf(document, source));
}

function newDiscriminatorOf(document: OpenApiDocument, source: JsonObject): Discriminator[] {
  const { propertyName, mapping: declared } = document.object(source.discriminator);
  if (typeof propertyName !== 'string') return [];
  const mapping = Object.entries(isObject(declared) ? declared : {});
  const valueFor = (name: string | undefined) => mapping.find(([, target]) => nameIn(target) === name)?.[0] ?? name;
  const branches = [source.oneOf, source.anyOf].flat().filter(isObject);
  const schemas = document.object(document.object(document.root.components).schemas);
  const isChild = (schema: unknown) =>
    isObject(schema) &&
    [schema.allOf].flat().some((part) => isObject(part) && document.referred(part).includes(source));
  // Without `oneOf` or `anyOf`, the alternatives are the targets of the mapping, and the schemas that extend this one.
  const alternatives = isParent(source)
    ? [
        ...mapping.map(([value, target]) => [value, document.named(source, String(target))] as const),
        ...Object.entries(schemas).flatMap(([name, schema]) =>
          isChild(schema) && !mapping.some(([, target]) => nameIn(target) === name) ? [[name, schema] as const] : [],
        ),
      ]
    : branches.map((branch) => [valueFor(nameIn(branch.$ref)), branch] as const);
  const values = alternatives.flatMap(([value, schema]) => {
    if (value === undefined || !isObject(schema) || schema === source) return [];
    return [...new Set([schema, document.object(schema)])].map((one) => [value, one] as const);
  });
  return [{ propertyName, values, source }];
}

/** The schema that a discriminator names for a value. */
export function schemaNamed(document: OpenApiDocument, source: JsonObject, value: unknown): JsonObject | undefined {
  const [discriminator] = discriminatorOf(document, source);
  const name = isObject(value) && discriminator ? value[discriminator.propertyName] : undefined;
  return discriminator?.values.find(([own]) => own === name)?.[1];
}

/** The name that a reference ends with, without the extension of a file. */
export function nameIn(reference: unknown): string | undefined {
  return typeof reference === 'string' ? /([^/#]+?)(?:\.(?:ya?ml|json))?$/.exec(reference)?.[1] : undefined;
}
