import { Unstorable } from '../contract/unstorable.ts';

/** A body in transit between threads, as JSON, because parsing it is faster than cloning objects. */
export interface TransferredBody {
  readonly json: Uint8Array<ArrayBuffer>;
  /** Values that JSON cannot represent: their path and the detail of the problem. */
  readonly unstorable: readonly (readonly [path: readonly string[], detail: string])[];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Moves the content of the body into transferable form. The body must not be used afterwards. */
export function packBody(body: unknown): TransferredBody {
  const unstorable: [string[], string][] = [];
  detach(body, [], unstorable);
  return { json: encoder.encode(JSON.stringify(body)), unstorable };
}

export function unpackBody({ json, unstorable }: TransferredBody): unknown {
  const body: unknown = JSON.parse(decoder.decode(json));
  for (const [path, detail] of unstorable) {
    const holder = path.slice(0, -1).reduce((value: unknown, name) => Reflect.get(Object(value), name), body);
    put(Object(holder), path.at(-1) ?? '', new Unstorable(detail));
  }
  return body;
}

function detach(value: unknown, path: readonly string[], found: [string[], string][]): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, item] of Object.entries(value)) {
    if (item instanceof Unstorable) {
      found.push([[...path, name], item.detail]);
      put(value, name, null);
    } else if (typeof item === 'object') detach(item, [...path, name], found);
  }
}

/** Uses defineProperty, because the name may be `__proto__`. */
export function put(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}
