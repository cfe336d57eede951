/** The latest body that was serialized on its own. A weak map would keep each text until the next collection of all memory. */
let latest: { readonly body: object; readonly text: string } | undefined;

/** Returns the JSON of a complete body, and keeps it: the body is sent next, and serializing it again would cost as much as its digest. */
export function serialize(body: object): string {
  const text = JSON.stringify(body);
  latest = { body, text };
  return text;
}

/** Returns the JSON of a body, which may just have been serialized. */
export function serialized(body: unknown): string {
  return latest !== undefined && latest.body === body ? latest.text : JSON.stringify(body);
}
