/** What types alone do not prevent in an input, and what would reach other rows than those that the caller meant. */

/**
 * `fetch` resolves `.` and `..` in a path, and an empty value leaves its segment out: the request would go to another operation.
 *
 * @throws TypeError that names the value
 */
export function checkPath(template: string, values: Readonly<Record<string, unknown>> = {}): void {
  for (const [, name = ''] of template.matchAll(/\{(\w+)\}/g)) {
    const value = values[name];
    if (/^\.{0,2}$/.test(String(value ?? ''))) throw new TypeError(`path.${name} cannot be ${JSON.stringify(value)}.`);
  }
}

/**
 * JSON leaves out what is undefined, and a condition that is left out matches every row. Types alone do not prevent it: without
 * `exactOptionalPropertyTypes`, undefined is allowed wherever a property is optional.
 *
 * @throws TypeError that names the undefined value in the `where` of a body.
 */
export function checkWhere(body: unknown): void {
  if (isObject(body) && 'where' in body) check(body.where, 'body.where');
}

function check(value: unknown, path: string): void {
  if (value === undefined) {
    throw new TypeError(`${path} is undefined, which would match every row. Set or remove it.`);
  }
  if (!isObject(value)) return;
  for (const [key, inner] of Object.entries(value))
    check(inner, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
