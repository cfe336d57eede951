const texts = new WeakMap<object, string>();

/** Returns the JSON of a complete body and keeps it until the body is sent: serializing it again would cost as much as its digest. */
export function serialize(body: object): string {
  const text = JSON.stringify(body);
  texts.set(body, text);
  return text;
}

/** Returns the JSON of a body, which may have been serialized before. */
export function serialized(body: unknown): string {
  const known = typeof body === 'object' && body !== null ? texts.get(body) : undefined;
  return known ?? JSON.stringify(body);
}
