import { isObject } from '../../openapi/rules/contract.ts';
import { normalized } from '../../packages/openapi-breaking/src/compare.ts';
import { type Bundle, isMethod, pointerTo, resolved } from '../../packages/openapi-breaking/src/document.ts';

/** An operation, a parameter, a property or a value of an enum that a document has and the one before had not. */
export interface Addition {
  readonly name: string;
  readonly at: string;
  /** The schema that a property was added to. */
  readonly of?: string;
}

/** Returns what was added to what both documents have. A new operation or schema is one addition, whatever it contains. */
export function additionsOf(given: Bundle, present: Bundle): readonly Addition[] {
  const [before, now] = [normalized(given), normalized(present)];
  const found: Addition[] = [];
  compareValues(before, now, []);
  return found;

  function compareValues(one: unknown, other: unknown, keys: readonly string[]): void {
    const key = keys.at(-1) ?? '';
    if (Array.isArray(one) && Array.isArray(other)) {
      if (key === 'enum') for (const value of other) if (!one.includes(value)) add(String(value), keys);
      if (/^(all|any|one)Of$/.test(key) && one.length === other.length)
        for (const [index, branch] of other.entries()) compareValues(one[index], branch, [...keys, String(index)]);
    }
    if (!isObject(one) || !isObject(other) || /^examples?$/.test(key)) return;
    if (keys.length === 3 && isMethod(key)) compareParameters(keys);
    for (const [name, value] of Object.entries(other)) {
      const at = [...keys, name];
      if (name in one) compareValues(one[name], value, at);
      else if (key === 'properties') add(name, at, keys[0] === 'components' ? { of: keys[2] ?? '' } : {});
      else if (/^(paths|webhooks)$/.test(key)) addOperations(value, at);
      else if (keys[0] === 'paths' && keys.length === 2 && isMethod(name)) addOperations({ [name]: value }, keys);
    }
  }

  function addOperations(item: unknown, keys: readonly string[]): void {
    for (const [method, operation] of Object.entries(item ?? {}))
      if (isMethod(method)) add(String(Object(operation).operationId ?? keys[1]), [...keys, method]);
  }

  /** Those of an operation, and of its path for all operations. */
  function compareParameters([root = '', path = '', method = '']: readonly string[]): void {
    const [had, has] = [before, now].map((document) => {
      const item = Object(Object(document[root])[path]);
      const all: unknown[] = [item.parameters ?? [], item[method].parameters ?? []].flat();
      return all.map((one) => resolved(document, one)).map(({ in: place, name }) => ({ place, name: String(name) }));
    });
    for (const { place, name } of has ?? [])
      if (had?.some((one) => one.place === place && one.name === name) === false)
        add(name, [root, path, method, 'parameters']);
  }

  function add(name: string, keys: readonly string[], rest: Pick<Addition, 'of'> = {}): void {
    found.push({ name, at: pointerTo(...keys), ...rest });
  }
}
