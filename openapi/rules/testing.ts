/**
 * Each rule is seen to fail and to pass: a test breaks one thing in the small contract, which keeps every rule, and
 * expects a sentence of one of them.
 */
import { BaseResolver, createConfig, lintDocument, makeDocumentFromString, Source } from '@redocly/openapi-core';
import { stringify } from 'yaml';
import contract, { rules } from './plugin.ts';
import { type Files, smallContract } from './small-contract.ts';

/** What rule says what, for every rule of ours. */
export async function lint(files: Files): Promise<{ rule: string; message: string }[]> {
  const config = await createConfig(
    { rules: Object.fromEntries(Object.keys(rules).map((rule) => [`contract/${rule}`, 'error' as const])) },
    { plugins: [prefixed()] },
  );
  const root = '/contract/openapi/openapi.yaml';
  const problems = await lintDocument({
    document: makeDocumentFromString(stringify(files['openapi.yaml']), root),
    config,
    externalRefResolver: new MemoryResolver(files),
  });
  return problems.map(({ ruleId, message }) => ({ rule: ruleId.replace('contract/', ''), message }));
}

/** Redocly prefixes the rules of the plugins that a file names, and takes ready ones as they are. */
function prefixed() {
  const { id, rules } = contract();
  return {
    id,
    rules: { oas3: Object.fromEntries(Object.entries(rules.oas3).map(([name, rule]) => [`${id}/${name}`, rule])) },
  };
}

class MemoryResolver extends BaseResolver {
  readonly #files: Files;

  constructor(files: Files) {
    super();
    this.#files = files;
  }

  override async loadExternalRef(absoluteRef: string): Promise<Source> {
    const file = this.#files[absoluteRef.replace('/contract/openapi/', '')];
    if (file === undefined) throw new Error(`There is no ${absoluteRef}.`);
    return new Source(absoluteRef, stringify(file));
  }
}

/** What one rule says of the small contract after a change. */
export async function sentences(rule: string, change: (files: Files) => void): Promise<string[]> {
  const files = smallContract();
  change(files);
  return (await lint(files)).flatMap((problem) => (problem.rule === rule ? [problem.message] : []));
}

/** Writes a value into a file of the small contract; undefined removes the key. */
export function set(files: Files, file: string, keys: (string | number)[], value: unknown): void {
  const last = keys.at(-1);
  let holder: unknown = files[file];
  for (const key of keys.slice(0, -1)) holder = (holder as Record<string | number, unknown> | undefined)?.[key];
  if (last === undefined || typeof holder !== 'object' || holder === null)
    throw new Error(`${file} has no ${keys.join('/')}.`);
  if (value === undefined) Reflect.deleteProperty(holder, last);
  else Reflect.set(holder, last, value);
}
