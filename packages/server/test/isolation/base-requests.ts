import type { Random } from '@financial-automation/demo-data/profiles/random';
import { contract, type Operation, type Schema, schemaOf } from '../../src/contract/contract.ts';
import { allEntities, entityOf } from '../../src/entity/registry.ts';
import type { TenantValues } from './tenant-values.ts';

/** A request before it is sent, with parameters and body as values. */
export interface BaseRequest {
  readonly operation: Operation;
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

interface Described {
  readonly $ref?: string;
  readonly name?: string;
  readonly in?: string;
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly 'x-example'?: unknown;
  readonly value?: unknown;
  readonly parameters?: readonly Described[];
  readonly examples?: Readonly<Record<string, Described>>;
  readonly content?: Readonly<Record<string, Described>>;
  readonly requestBody?: Described;
  readonly responses?: Readonly<Record<string, Described>>;
}

/** Valid requests with values of the tenant that sends them. */
export class BaseRequests {
  readonly #random: Random;
  readonly #own: TenantValues;

  constructor(random: Random, own: TenantValues) {
    this.#random = random;
    this.#own = own;
  }

  of(operation: Operation): BaseRequest {
    const { method, path } = operation;
    const item = contract.paths[path] as Readonly<Record<string, Described>> & Described;
    const described = item[method.toLowerCase()];
    const parameters = [...(item.parameters ?? []), ...(described?.parameters ?? [])].map(resolved);
    const inPath = parameters.filter((one) => one.in === 'path');
    const inQuery = parameters.filter(
      (one) => one.in === 'query' && (one.name === 'clientRef' || this.#random.chance(0.3)),
    );
    const isCursor = inQuery.some(({ name }) => name === 'cursor');
    return {
      operation,
      path: Object.fromEntries(
        inPath.map(({ name = '', example }) => [name, this.#pathValue(operation, name, example)]),
      ),
      query: Object.fromEntries(
        inQuery
          .filter(({ name }) => !isCursor || name !== 'page')
          .map(({ name = '', ...shown }) => [name, String([shown.example ?? shown['x-example']].flat()[0])]),
      ),
      body: this.#body(described?.requestBody),
    };
  }

  /** Returns an ID of the operation's rows, or the example of another parameter. */
  #pathValue({ id, path }: Operation, name: string, example: unknown): string {
    if (!/^id$|Id$/.test(name)) return String(example);
    const table =
      name === 'batchId' ? 'engagement_batch' : name === 'id' ? tableOf(id, path) : snake(name.slice(0, -2));
    return this.#random.chance(0.4) && this.#own.tableOf.has(String(example)) && name !== 'id'
      ? String(example)
      : this.#ownId(table);
  }

  #ownId(table: string): string {
    const ids = this.#own.ids.get(table) ?? [];
    return ids[this.#random.below(ids.length)] ?? unknownId;
  }

  #body(described: Described | undefined): unknown {
    const content = described === undefined ? undefined : resolved(described).content?.['application/json'];
    if (content?.schema === undefined) return undefined;
    const examples = Object.values(content.examples ?? {}).map((example) => resolved(example).value);
    if (examples.length > 0 && this.#random.chance(0.6)) return examples[this.#random.below(examples.length)];
    return this.#make(content.schema, '', 0);
  }

  /** Creates a value of the schema, with optional properties at random. */
  #make(schema: Schema, key: string, depth: number): unknown {
    const { $ref, ...beside } = schema;
    const references = schema['x-references'];
    const full: Schema = $ref === undefined ? schema : { ...schemaOf($ref), ...beside };
    const choices = full.oneOf ?? full.anyOf;
    if (choices !== undefined) {
      const kept = full.properties === undefined || references !== undefined ? choices : [];
      const choice = kept[this.#random.below(kept.length)];
      if (choice !== undefined)
        return this.#make(references === undefined ? choice : { ...choice, 'x-references': references }, key, depth);
    }
    if (full.enum !== undefined) return full.enum[this.#random.below(full.enum.length)];
    const types = [full.type].flat();
    if (types.includes('null') && this.#random.chance(0.1)) return null;
    if (types.includes('object')) return this.#object(full, depth);
    if (types.includes('array') && full.items !== undefined) {
      const { items } = full;
      const item = references === undefined ? items : { ...items, 'x-references': references };
      return Array.from({ length: this.#random.between(1, 2) }, () => this.#make(item, key, depth + 1));
    }
    if (types.includes('integer') || types.includes('number'))
      return Math.min(full.maximum ?? 100, (full.minimum ?? 0) + this.#random.below(20));
    if (types.includes('boolean')) return this.#random.chance(0.5);
    return types.includes('string') ? this.#text(full, key, references) : {};
  }

  #object({ properties = {}, required = [], ...rest }: Schema, depth: number): Record<string, unknown> {
    const names = Object.keys(properties);
    const isFilter = names.includes('_and') || names.includes('_eq');
    const share = depth > 6 ? 0 : isFilter ? 2 / names.length : depth < 2 ? 0.4 : 0.25;
    const chosen = names.filter(
      (name) => required.includes(name) || (this.#random.chance(share) && !(depth > 3 && /^_(and|or|not)$/.test(name))),
    );
    const least =
      'minProperties' in rest && chosen.length === 0 ? [names[this.#random.below(names.length)] ?? ''] : chosen;
    const withoutBoth = least.includes('cursor') ? least.filter((name) => name !== 'page') : least;
    return Object.fromEntries(withoutBoth.map((name) => [name, this.#make(properties[name] ?? {}, name, depth + 1)]));
  }

  #text(schema: Schema, key: string, references: string | undefined): string {
    const isId = schema.pattern?.startsWith('^[0-9a-f]{8}-') === true;
    if (isId) return this.#ownId(references === undefined ? snake(key.replace(/Ids?$/, '')) : tableOfType(references));
    const known = this.#own.texts.get(snake(key)) ?? [];
    const value = known[this.#random.below(known.length)];
    if (value !== undefined) return value;
    return examplesOfPatterns.find((one) => new RegExp(schema.pattern ?? '^').test(one)) ?? 'text';
  }
}

/** Texts in the formats of the contract: dates, instants, amounts, phone numbers, addresses, codes. */
const examplesOfPatterns = [
  'Some text',
  '2026-09-28',
  '2026-09-28T10:00:00.000Z',
  '12.50',
  '1',
  'US',
  'USD',
  '+15035550142',
  'someWord',
  'SomeWord',
  'some/word',
  'https://hooks.example.com/x',
  '336612',
  'whsec_'.padEnd(40, 'A'),
  `v1,${'A'.repeat(43)}=`,
  '/x',
];
const unknownId = '0199c3d3-0c01-7c01-8a4f-5d2e9b60f1ff';

export function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function tableOfType(type: string): string {
  return entityOf(type)?.table ?? snake(type).replace(/^_/, '');
}

/** The table that the ID in the path of an operation refers to. */
function tableOf(id: string, path: string): string {
  if (path.includes('/event-subscriptions/')) return 'event_subscription';
  if (path.includes('/clients/')) return 'client';
  if (path.includes('/invoices/')) return 'invoice';
  if (path.includes('/people/')) return 'contact';
  const name = id.replace(/^[a-z]+/, '');
  const type = [...allEntities()].map((entity) => entity.type).find((one) => one === name || one === `${name}Entry`);
  return tableOfType(type ?? name);
}

/** Resolves a reference of the bundle. */
function resolved(described: Described): Described {
  if (described.$ref === undefined) return described;
  let found: unknown = contract;
  for (const part of described.$ref.split('/').slice(1)) found = (found as Readonly<Record<string, unknown>>)[part];
  return found as Described;
}
