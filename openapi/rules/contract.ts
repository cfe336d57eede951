/**
 * How rules read the contract: by places. A place follows references, and has both where a value is used and where it is
 * written, so a rule is written in the terms of the contract and reports where to correct it.
 */
import { basename, dirname } from 'node:path';
import type { Location, Oas3Rule, UserContext } from '@redocly/openapi-core';

export type JsonObject = Record<string, unknown>;
type Context = Pick<UserContext, 'resolve' | 'report' | 'location'>;
type Resolve = UserContext['resolve'];

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Within a bundle. */
export function reference(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/** The name of the schema that a reference within a bundle leads to. */
export function nameIn($ref: string): string {
  return $ref.replace('#/components/schemas/', '');
}

export function isReference(value: unknown): value is { $ref: string } & JsonObject {
  return isObject(value) && typeof value.$ref === 'string';
}

interface Layer {
  value: unknown;
  location: Location;
}

export class Place {
  /** The values that apply together: first the siblings of a reference, then its target. */
  readonly layers: readonly Layer[];
  /** Where the value is used: for a reference, where the reference is. */
  readonly location: Location;
  /** The value as it is used, which can be a reference. */
  readonly raw: unknown;
  readonly #resolve: Resolve;

  constructor(raw: unknown, location: Location, resolve: Resolve) {
    this.raw = raw;
    this.location = location;
    this.#resolve = resolve;
    this.layers = layersOf(raw, location, resolve);
  }

  /** The value without the siblings of its reference. */
  get value(): unknown {
    return this.layers.at(-1)?.value;
  }

  /** Where the value is written. */
  get home(): Location {
    return this.layers.at(-1)?.location ?? this.location;
  }

  /** The name that the bundle gives it: that of its file or its key among the components. Inline values have none. */
  get name(): string | undefined {
    return nameOf(this.home);
  }

  keys(): string[] {
    return [...new Set(this.layers.flatMap(({ value }) => (isObject(value) ? Object.keys(value) : [])))].filter(
      (key) => key !== '$ref',
    );
  }

  get(...keys: (string | number)[]): Place | undefined {
    const [key, ...others] = keys;
    if (key === undefined) return this;
    for (const { value, location } of this.layers) {
      const holder: unknown = value;
      if (Array.isArray(holder) ? Number(key) in holder : isObject(holder) && Object.hasOwn(holder, key)) {
        const child: unknown = Array.isArray(holder) ? holder[Number(key)] : isObject(holder) ? holder[key] : undefined;
        return new Place(child, location.child([key]), this.#resolve).get(...others);
      }
    }
    return undefined;
  }

  text(...keys: (string | number)[]): string | undefined {
    const value = this.get(...keys)?.value;
    return typeof value === 'string' ? value : undefined;
  }

  /** The named values of an object. */
  entries(): [string, Place][] {
    return this.keys().flatMap((key) => {
      const child = this.get(key);
      return child === undefined ? [] : [[key, child]];
    });
  }

  /** The elements of an array; none of another value. */
  items(): Place[] {
    return Array.isArray(this.value) ? this.value.flatMap((_, index) => this.get(index) ?? []) : [];
  }

  list(...keys: (string | number)[]): Place[] {
    return this.get(...keys)?.items() ?? [];
  }

  map(...keys: (string | number)[]): [string, Place][] {
    return this.get(...keys)?.entries() ?? [];
  }
}

function layersOf(raw: unknown, location: Location, resolve: Resolve): Layer[] {
  if (!isReference(raw)) return [{ value: raw, location }];
  const target = resolve<JsonObject>({ $ref: raw.$ref }, location.source.absoluteRef);
  const layers = [
    { value: raw, location },
    ...(target.chain ?? []).map((hop) => ({ value: hop.node, location: hop.location })),
  ]
    .filter(({ value }) => isObject(value) && Object.keys(value).length > 1)
    .map(({ value, location }): Layer => ({ value: withoutReference(value), location }));
  return target.node === undefined ? layers : [...layers, { value: target.node, location: target.location }];
}

function withoutReference(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { $ref: _, ...siblings } = value;
  return siblings;
}

export function nameOf(location: Location): string | undefined {
  if (location.pointer === '#/' || location.pointer === '')
    return basename(location.source.absoluteRef).replace(/\.ya?ml$/, '');
  return /^#\/components\/[^/]+\/([^/]+)$/.exec(location.pointer)?.[1];
}

/** The type that a schema describes: its name, unless `x-type` in the bundle has another. */
export function typeNameOf(schema: unknown, location: Location): string | undefined {
  const type = objectOf(schema)['x-type'];
  return typeof type === 'string' ? type : nameOf(location);
}

/** The folder of a file of the contract, such as `clients`. */
export function folderOf(location: Location): string {
  return basename(dirname(location.source.absoluteRef));
}

export type Report = (place: Place | Location, sentence: string) => void;

/** Reports each sentence once per place, however many operations lead there. */
export function reporter(context: Context): Report {
  const reported = new Set<string>();
  return (place, sentence) => {
    const location = place instanceof Place ? place.location : place;
    const key = `${location.absolutePointer} ${sentence}`;
    if (reported.has(key)) return;
    reported.add(key);
    context.report({ message: sentence, location });
  };
}

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'] as const;

export interface Operation {
  path: string;
  method: string;
  /** Where `paths` refers to the file of the path. */
  item: Place;
  place: Place;
  id: string;
  parameters: Place[];
  body: Place | undefined;
  responses: [status: string, response: Place][];
  /** The response with a status of 2xx. */
  success: Place | undefined;
}

export function operationsOf(root: Place): Operation[] {
  return root.map('paths').flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const place = item.get(method);
      if (place === undefined) return [];
      const responses = place.map('responses');
      return {
        path,
        method,
        item,
        place,
        id: place.text('operationId') ?? `${method} ${path}`,
        parameters: [...item.list('parameters'), ...place.list('parameters')],
        body: place.get('requestBody'),
        responses,
        success: responses.find(([status]) => status.startsWith('2'))?.[1],
      };
    }),
  );
}

export function isPublic(operation: Operation): boolean {
  return operation.place.list('x-roles').some((role) => role.value === 'PUBLIC');
}

export function parameterNamed(operation: Operation, name: string): Place | undefined {
  return operation.parameters.find((parameter) => parameter.text('name')?.toLowerCase() === name.toLowerCase());
}

/** A rule over the whole contract. */
export function wholeContract(check: (root: Place, report: Report) => void): Oas3Rule {
  return () => ({
    Root(root, context) {
      check(new Place(root, context.location, context.resolve), reporter(context));
    },
  });
}

/** A rule over the named schemas. */
export function namedSchemas(check: (schemas: ReadonlyMap<string, Place>, report: Report) => void): Oas3Rule {
  return () => {
    const schemas = new Map<string, Place>();
    return {
      Schema(schema, { location, resolve }) {
        const name = nameOf(location);
        if (name !== undefined) schemas.set(name, new Place(schema, location, resolve));
      },
      Root: {
        leave(_, context) {
          check(schemas, reporter(context));
        },
      },
    };
  };
}

/** A rule over each operation; webhooks are not operations of ours. */
export function eachOperation(check: (operation: Operation, report: Report) => void): Oas3Rule {
  return wholeContract((root, report) => {
    for (const operation of operationsOf(root)) check(operation, report);
  });
}
