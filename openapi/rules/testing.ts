/**
 * Each rule is tested with a contract that fails and one that passes: a test breaks one rule in the small contract, which keeps all, and
 * expects a sentence of one of them.
 */
import { BaseResolver, bundle, createConfig, type Document, lintDocument, Source } from '@redocly/openapi-core';
import contract, { preprocessors, rules } from './plugin.ts';
import { type Files, smallContract } from './small-contract.ts';

/** The findings of these rules, by default of all of ours, and of the decorators before them. */
export async function lint(files: Files, only = Object.keys(rules)): Promise<{ rule: string; message: string }[]> {
  const problems = await lintDocument(await opened(files, only));
  return problems.map(({ ruleId, message }) => ({ rule: ruleId.replace('contract/', ''), message }));
}

/** The bundle before the decorators. */
export async function bundled(files: Files): Promise<unknown> {
  const { document, ...options } = await opened(files, []);
  return (await bundle({ ...options, doc: document })).bundle.parsed;
}

async function opened(files: Files, only: readonly string[]) {
  const config = await createConfig(
    {
      rules: Object.fromEntries(only.map((rule) => [`contract/${rule}`, 'error' as const])),
      preprocessors: Object.fromEntries(Object.keys(preprocessors).map((name) => [`contract/${name}`, 'on' as const])),
    },
    { plugins: [prefixed()] },
  );
  const externalRefResolver = new MemoryResolver(files);
  const document = externalRefResolver.parseDocument(sourceOf(files, '/contract/openapi/openapi.yaml'));
  return { document, config, externalRefResolver };
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
    return sourceOf(this.#files, absoluteRef);
  }

  override parseDocument(source: Source): Document {
    return { source, parsed: structuredClone(this.#files[nameOf(source.absoluteRef)]) };
  }
}

/** A file without its text: to write it as YAML and parse that again would take most of the time. */
function sourceOf(files: Files, absoluteRef: string): Source {
  if (files[nameOf(absoluteRef)] === undefined) throw new Error(`There is no ${absoluteRef}.`);
  return new Source(absoluteRef, '');
}

function nameOf(absoluteRef: string): string {
  return absoluteRef.replace('/contract/openapi/', '');
}

/** The findings of one rule in the small contract after a change. */
export async function sentences(rule: string, change: (files: Files) => void): Promise<string[]> {
  const files = smallContract();
  change(files);
  const only = Object.hasOwn(rules, rule) ? [rule] : [];
  return (await lint(files, only)).flatMap((problem) => (problem.rule === rule ? [problem.message] : []));
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
