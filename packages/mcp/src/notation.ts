/**
 * Schemas in a short notation that models read well, like types of TypeScript: a JSON Schema of a search has thirty times the characters.
 * A type that has a name is mentioned by it, and declared once.
 */

import type { Contract, Schema } from './contract.ts';
import { groupBy } from './group-by.ts';

/** Types whose declaration is as long as a mention, and which are therefore never mentioned. */
const maxInline = 60;

/** The declarations of types and of what they mention, at most this many levels deep. Deeper ones are mentioned by their names alone. */
const depth = 1;

/** Declares types by name, each once. */
export function declarationsOf(names: readonly string[], contract: Contract): string[] {
  const declared = new Map<string, string>();
  const declare = (name: string, level: number) => {
    const schema = contract.schemas[name];
    if (schema === undefined || declared.has(name)) return;
    declared.set(name, '');
    const mentioned = new Set<string>();
    declared.set(name, declarationOf(name, schema, contract, mentioned));
    if (level > 0) for (const other of mentioned) declare(other, level - 1);
  };
  for (const name of names) declare(name, depth);
  return [...declared.values()];
}

/** The type of a schema, and the names that it mentions. */
export function typeOf(schema: Schema, contract: Contract, mentioned: Set<string>): string {
  if (schema.$ref !== undefined) {
    const name = nameIn(schema.$ref);
    const target = contract.schemas[name] ?? {};
    const inline = target.properties === undefined ? typeOf(target, contract, new Set()) : undefined;
    if (inline !== undefined && inline.length <= maxInline) return inline;
    mentioned.add(name);
    return name;
  }
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const branches = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(branches)) return branches.map((branch) => typeOf(branch, contract, mentioned)).join(' | ');
  if (schema.properties !== undefined) return objectOf(schema, contract, mentioned);
  const types = [schema.type ?? 'any'].flat().map(String);
  return types.map((type) => simpleType(type, schema, contract, mentioned)).join(' | ');
}

function simpleType(type: string, schema: Schema, contract: Contract, mentioned: Set<string>): string {
  if (type === 'array') {
    const item = typeOf(Object(schema.items), contract, mentioned);
    return `${item.includes(' | ') ? `(${item})` : item}[]`;
  }
  if (type === 'string') return schema.format === undefined ? 'string' : String(schema.format);
  if (type === 'object' && typeof schema.additionalProperties === 'object')
    return `{ [name]: ${typeOf(Object(schema.additionalProperties), contract, mentioned)} }`;
  return type;
}

function objectOf({ properties = {}, required = [] }: Schema, contract: Contract, mentioned: Set<string>): string {
  // Properties of one type together: a filter has thirty columns of four types.
  const byType = groupBy(Object.entries(properties), ([, property]) => typeOf(property, contract, mentioned));
  const groups = [...byType].map(([type, members]) => {
    const names = members.map(([name]) => `${name}${required.includes(name) ? '' : '?'}`);
    return `${names.join(', ')}: ${type}`;
  });
  return `{ ${groups.join('; ')} }`;
}

function declarationOf(name: string, schema: Schema, contract: Contract, mentioned: Set<string>): string {
  const about = firstSentence(schema.description);
  return `${name} = ${typeOf(schema, contract, mentioned)}${about === '' ? '' : ` // ${about}`}`;
}

export function firstSentence(text = ''): string {
  return /^[\s\S]*?[.:](?=\s|$)/.exec(text.trim())?.[0].replaceAll(/\s+/g, ' ') ?? text.trim();
}

function nameIn(reference: string): string {
  return reference.split('/').at(-1) ?? '';
}
