import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planOf } from '../../src/check.ts';
import type { PlanEntry } from '../../src/run/report.ts';

/** What a POST does, as a person reads its document. */
export const classes = {
  R: 'reads',
  C: 'creates',
  A: 'acts on what its path names',
  X: 'does something else',
} as const;

type Class = keyof typeof classes;

export interface Post {
  readonly class: Class;
  readonly path: string;
  readonly entry: PlanEntry;
}

/** Plans a run for each document of a table, whose lines have a POST and the facts that the plan reads. */
export async function judgedPosts(table: string): Promise<{ document: string; posts: Post[] }[]> {
  const text = readFileSync(new URL(table, import.meta.url), 'utf8');
  const folder = await mkdtemp(join(tmpdir(), 'contract-check-effects-'));
  const documents = text.split(/^# /m).slice(1);
  const judged = documents.map(async (part, index) => {
    const [document = '', ...lines] = part.trim().split('\n');
    const rows = lines.map(rowOf);
    const spec = join(folder, `${index}.json`);
    await writeFile(spec, JSON.stringify(contractOf(rows)));
    const plan = new Map((await planOf({ spec })).map((entry) => [`${entry.method} ${entry.path}`, entry]));
    const posts = rows.flatMap((row) => {
      const entry = plan.get(`POST ${row.path}`);
      return entry === undefined ? [] : [{ class: row.class, path: row.path, entry }];
    });
    return { document, posts };
  });
  try {
    return await Promise.all(judged);
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Row {
  readonly class: Class;
  /** `201`, or `204-` without a body. */
  readonly statuses: readonly string[];
  /**
   * `list` or `one`: what GET of the path returns. `item`: GET of one below it. `enum:name`: a parameter of words. `key:name`: a
   * property of the body that names the resource.
   */
  readonly facts: readonly string[];
  readonly path: string;
  readonly operationId: string | undefined;
}

function rowOf(line: string): Row {
  const [kind = '', statuses = '', facts = '', path = '', id = ''] = line.split('\t');
  const list = (text: string) => (text === '-' ? [] : text.split(/[ ,]/));
  if (!isClass(kind)) throw new Error(`Unknown class ${kind}: ${line}`);
  return { class: kind, statuses: list(statuses), facts: list(facts), path, operationId: id === '-' ? undefined : id };
}

const isClass = (text: string): text is Class => text in classes;

/** A document that has the facts of the rows, and no more. */
function contractOf(rows: readonly Row[]): object {
  const paths: Record<string, Record<string, object>> = {};
  const add = (path: string, method: string, operation: object) => {
    paths[path] = { [method]: operation, ...paths[path] };
  };
  for (const { path, statuses, facts, operationId } of rows) {
    const words = facts.filter((fact) => fact.startsWith('enum:')).map((fact) => fact.slice('enum:'.length));
    const parameters = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => {
      return {
        name,
        in: 'path',
        required: true,
        schema: { type: 'string', ...(words.includes(name) && { enum: ['a'] }) },
      };
    });
    const responses = statuses.map((text) => [
      text.replace('-', ''),
      response(text.endsWith('-') ? undefined : object),
    ]);
    const key = facts.find((fact) => fact.startsWith('key:'))?.slice('key:'.length);
    const requestBody = { content: { 'application/json': { schema: bodyWith(key?.split('.') ?? []) } } };
    add(path, 'post', { operationId, parameters, requestBody, responses: Object.fromEntries(responses) });
    if (facts.includes('list'))
      add(path, 'get', { parameters, responses: { 200: response({ type: 'array', items: object }) } });
    if (facts.includes('one')) add(path, 'get', { parameters, responses: { 200: response(object) } });
    const item = { name: 'itemId', in: 'path', required: true, schema: { type: 'string' } };
    if (facts.includes('item'))
      add(path.replace(/(?=\.json$)|$/, '/{itemId}'), 'get', {
        parameters: [...parameters, item],
        responses: { 200: response(object) },
      });
  }
  return { openapi: '3.1.0', info: { title: 'Corpus', version: '1' }, paths };
}

function bodyWith([name, ...others]: readonly string[]): object {
  if (name === undefined) return { type: 'string' };
  return { type: 'object', properties: { [name]: bodyWith(others) } };
}

const object = { type: 'object', properties: { id: { type: 'string' } } };
const response = (schema: object | undefined) => ({
  description: 'Done',
  ...(schema && { content: { 'application/json': { schema } } }),
});
