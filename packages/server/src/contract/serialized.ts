/** Of a body whose JSON is known. It cannot be enumerated, so that a copy, whose properties may differ, does not have it. */
const known = Symbol('JSON');

/** Keeps the JSON of a complete body with it, so that it is sent as it is. */
export function withJson<Body extends object>(body: Body, json: string): Body {
  return Object.defineProperty(body, known, { value: json, configurable: true });
}

/** Returns the JSON of a complete body, and keeps it: the body is sent next, and serializing it again would cost as much as its digest. */
export function serialize(body: object): string {
  const json = JSON.stringify(body);
  withJson(body, json);
  return json;
}

/** Returns the JSON of a body, which may be known. */
export function serialized(body: unknown): string {
  const json: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, known) : undefined;
  return typeof json === 'string' ? json : JSON.stringify(body);
}
