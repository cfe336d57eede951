/** What the search of the reference finds: chapters, topics, operations, events, states and roles, with their words and fields. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type Contract, operationsOf } from '../../packages/spec/src/examples.ts';
import { operations as index } from '../../packages/spec/src/index.ts';
import type { SearchEntry } from './in-page/find.ts';
import { slugOf, topicsOf } from './markdown.ts';
import { type Shape, schemaName } from './shapes.ts';
import { stateChapter, stateMachinesOf } from './states.ts';

interface Event {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
}

/** @param shown the contract as the reference shows it, which determines what has an address of its own. */
export function searchEntries(contract: Contract, shown: Contract): SearchEntry[] {
  const schemas: Readonly<Record<string, Shape>> = Object(contract.components.schemas);
  const tags = shown.tags.map((tag): { name: string; 'x-displayName': string; description?: string } => Object(tag));
  const operations = operationsOf(contract).map((operation): SearchEntry => {
    const { id, method, path, summary, description, body } = operation;
    const names = new Set<string>();
    for (const part of [body, ...operation.responses.filter(({ status }) => status < 300)])
      addNames(part?.schema ?? {}, schemas, names);
    return {
      kind: 'Operation',
      link: `#/${index[id].tag}/${id.toLowerCase()}`,
      title: summary,
      id,
      path: `${method} ${path}`,
      names: [...names].join(' '),
      text: wordsOf(description),
    };
  });
  const events = Object.values(contract.webhooks).flatMap((item) =>
    Object.values(item).map((event): SearchEntry => {
      const { operationId = '', summary = '', description = '' }: Event = event;
      return {
        kind: 'Event',
        link: `#/webhooks/${operationId.toLowerCase()}`,
        title: summary,
        id: operationId,
        text: wordsOf(description),
      };
    }),
  );
  const states = stateMachinesOf(contract).map(
    ({ type, table }): SearchEntry => ({
      kind: 'States',
      link: `#/${stateChapter}/${type.toLowerCase()}`,
      title: `States of ${type}`,
      text: wordsOf(table),
    }),
  );
  return withPhrases(
    withRareWords([
      ...operations,
      ...topicsOf(shown).map(
        (topic): SearchEntry => ({
          kind: 'Topic',
          link: `#/section/${slugOf(topic)}`,
          title: topic.title,
          text: wordsOf(topic.text),
        }),
      ),
      ...tags.map(
        ({ name, description = '', ...tag }): SearchEntry => ({
          kind: kindOf(name),
          link: `#/${name}`,
          title: tag['x-displayName'],
          // Sections of this chapter have entries of their own.
          text: name === stateChapter ? '' : wordsOf(description),
        }),
      ),
      ...states,
      {
        kind: 'Topic',
        link: `#/${index.createToken.tag}/role`,
        title: 'Role',
        text: wordsOf(schemas.Role?.description ?? ''),
      },
      ...events,
    ]),
  );
}

function kindOf(chapter: string): SearchEntry['kind'] {
  if (chapter.startsWith('guide-')) return 'Guide';
  return chapter.startsWith('workflow-') ? 'Workflow' : 'Chapter';
}

const phrases: Readonly<Record<string, readonly string[]>> = parse(
  readFileSync(new URL('../../openapi/guides/search-phrases.yaml', import.meta.url), 'utf8'),
);

/** @throws Error if phrases are for an operation, a state machine, a guide or a topic that does not exist. */
function withPhrases(entries: readonly SearchEntry[]): SearchEntry[] {
  const missing = new Set(Object.keys(phrases));
  const all = entries.map((entry): SearchEntry => {
    const key = entry.kind === 'Operation' ? (entry.id ?? '') : entry.link.slice(2);
    const own = phrases[key];
    if (own === undefined) return entry;
    missing.delete(key);
    return { ...entry, phrases: own.join(', ') };
  });
  if (missing.size > 0) throw new Error(`The search finds nothing that is called ${[...missing].join(', ')}.`);
  return all;
}

/** Removes words that the other fields of an entry have, and those of so many entries that they distinguish none. */
function withRareWords(entries: readonly SearchEntry[]): SearchEntry[] {
  // Readers search for roles, which many operations have.
  const maxOf = (word: string) => (/^[A-Z]+_[A-Z_]+$/.test(word) ? 20 : 5);
  const uses = new Map<string, number>();
  for (const { text } of entries) for (const word of text.split(' ')) uses.set(word, (uses.get(word) ?? 0) + 1);
  return entries.map((entry) => {
    const { title, id, path, names, text } = entry;
    const own = new Set([title, id, path, names].join(' ').split(/[^\p{L}\p{N}_]+/u));
    return {
      ...entry,
      text: text
        .split(' ')
        .filter((word) => !own.has(word) && (uses.get(word) ?? 0) < maxOf(word))
        .join(' '),
    };
  });
}

/** Adds the names of all properties of a schema, except those of conditions and orders, which repeat the fields of the rows. */
function addNames(
  shape: Shape,
  schemas: Readonly<Record<string, Shape>>,
  names: Set<string>,
  seen = new Set<string>(),
): void {
  if (shape.$ref !== undefined) {
    const name = schemaName(shape.$ref);
    const target = schemas[name];
    if (target === undefined || seen.has(name) || /(Where|OrderBy|Condition)$/.test(name)) return;
    seen.add(name);
    addNames(target, schemas, names, seen);
  }
  for (const [name, property] of Object.entries(shape.properties ?? {})) {
    names.add(name);
    addNames(property, schemas, names, seen);
  }
  const { items, oneOf = [], anyOf = [], additionalProperties } = shape;
  const within = [
    ...oneOf,
    ...anyOf,
    ...(items === undefined ? [] : [items]),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ];
  for (const part of within) addNames(part, schemas, names, seen);
}

/** The words of a text in Markdown, once each and without short ones: the size of the page is limited. */
function wordsOf(markdown: string): string {
  const text = markdown
    .replaceAll(/```[\s\S]*?```/g, ' ')
    .replaceAll(/<figure[\s\S]*?<\/figure>/g, ' ')
    .replaceAll(/\]\([^)]*\)/g, ' ');
  const words = text.split(/[^\p{L}\p{N}_]+/u).filter((word) => word.length > 2);
  return [...new Map(words.map((word) => [word.toLowerCase(), word])).values()].sort().join(' ');
}
