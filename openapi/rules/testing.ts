/**
 * Each rule is tested with a contract that fails and one that passes: a test breaks one rule in the small contract, which keeps all, and
 * expects a sentence of one of them.
 */
import {
  BaseResolver,
  bundle,
  createConfig,
  lintDocument,
  makeDocumentFromString,
  Source,
} from '@redocly/openapi-core';
import { stringify } from 'yaml';
import contract, { preprocessors, rules } from './plugin.ts';
import { type Files, smallContract } from './small-contract.ts';

/** The findings of our rules and of the decorators before them, by rule. */
export async function lint(files: Files): Promise<{ rule: string; message: string }[]> {
  const problems = await lintDocument(await opened(files));
  return problems.map(({ ruleId, message }) => ({ rule: ruleId.replace('contract/', ''), message }));
}

/** The bundle before the decorators. */
export async function bundled(files: Files): Promise<unknown> {
  const { document, ...options } = await opened(files);
  return (await bundle({ ...options, doc: document })).bundle.parsed;
}

async function opened(files: Files) {
  const config = await createConfig(
    {
      rules: Object.fromEntries(Object.keys(rules).map((rule) => [`contract/${rule}`, 'error' as const])),
      preprocessors: Object.fromEntries(Object.keys(preprocessors).map((name) => [`contract/${name}`, 'on' as const])),
    },
    { plugins: [prefixed()] },
  );
  const document = makeDocumentFromString(stringify(files['openapi.yaml']), '/contract/openapi/openapi.yaml');
  return { document, config, externalRefResolver: new MemoryResolver(files) };
}

/** Redocly prefixes the rules of the plugins that a file names, and uses imported ones as they are. */
function prefixed() {
  const { id, rules, preprocessors, typeExtension } = contract();
  const named = <Visitor>(visitors: Record<string, Visitor>) =>
    Object.fromEntries(Object.entries(visitors).map(([name, visitor]) => [`${id}/${name}`, visitor]));
  return { id, typeExtension, rules: { oas3: named(rules.oas3) }, preprocessors: { oas3: named(preprocessors.oas3) } };
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

/** The findings of one rule in the small contract after a change. */
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
