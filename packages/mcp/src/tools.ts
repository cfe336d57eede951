/**
 * The tools: find operations, describe them, call them. One tool for each operation would fill the context of a model before it asks
 * anything: the definitions of all operations have ten times the characters of a long conversation.
 */

import { mayCall, requiredRoles } from '@financial-automation/spec/roles';
import type { Tool } from '@modelcontextprotocol/server';
import type { Contract, Operation, Parameter } from './contract.ts';
import { groupBy } from './group-by.ts';
import { declarationsOf, firstSentence, typeOf } from './notation.ts';

export interface Choice {
  /** Roles of the access token. Undefined if they are not known; the service then decides. */
  readonly roles: ReadonlySet<string> | undefined;
  readonly allowWrites: boolean;
  /** Tags of operations to offer. Undefined offers all. */
  readonly tags: ReadonlySet<string> | undefined;
}

/** Default page size: a page must fit into the context of a model. */
export const defaultPageSize = 20;

const callSchema: Tool['inputSchema'] = {
  type: 'object',
  properties: {
    operation: { type: 'string', description: 'An operation of find_operations, such as searchClients.' },
    arguments: {
      type: 'object',
      description: 'Path, query and header parameters by their names, and `body`. describe says which.',
    },
    fields: {
      type: 'array',
      items: { type: 'string' },
      description: 'Fields of each row to return, such as ["name", "partner.displayName"]. Without it, all.',
    },
  },
  required: ['operation'],
  additionalProperties: false,
};

const find: Tool = {
  name: 'find_operations',
  title: 'Find operations',
  description: 'Lists the operations of the API that you can call, with a summary of each.',
  inputSchema: {
    type: 'object',
    properties: {
      words: {
        type: 'string',
        description:
          'Words of the operation or its summary, such as "unpaid invoice". Operations with the most of them are listed.',
      },
      tag: { type: 'string', description: 'Only operations with this tag.' },
    },
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
};

const describeTool: Tool = {
  name: 'describe',
  title: 'Describe operations and types',
  description:
    'Describes operations: what they do, their arguments, and the fields that they return. Types that are mentioned but not declared can be described by their names.',
  inputSchema: {
    type: 'object',
    properties: {
      names: { type: 'array', items: { type: 'string' }, minItems: 1, description: 'Operations or types.' },
    },
    required: ['names'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
};

const read: Tool = {
  name: 'read',
  title: 'Call an operation that reads',
  description: `Calls an operation that changes nothing. A page has ${defaultPageSize} rows unless the call sets \`pageSize\`; the result says how to get the next ones.`,
  inputSchema: callSchema,
  annotations: { readOnlyHint: true },
};

const write: Tool = {
  name: 'write',
  title: 'Call an operation that changes data',
  description:
    'Calls an operation that changes data. With the argument "Dry-Run": "true" it checks everything and stores nothing, where the operation takes that.',
  inputSchema: callSchema,
  annotations: { readOnlyHint: false, destructiveHint: true },
};

export const toolNames = { find: find.name, describe: describeTool.name, read: read.name, write: write.name } as const;

export function toolsOf({ allowWrites }: Choice): Tool[] {
  return [find, describeTool, read, ...(allowWrites ? [write] : [])];
}

/** The reason that an operation is not offered, for people and models. Undefined if it is offered. */
export function reasonAgainst(operation: Operation, { roles, allowWrites, tags }: Choice): string | undefined {
  if (operation.isSecret) return `${operation.id} returns a secret, which must not be passed to a model.`;
  if (!operation.isRead && !allowWrites) {
    return `${operation.id} changes data, and this server is read-only. Start it with --allow-writes to allow changes.`;
  }
  if (tags !== undefined && !tags.has(operation.tag)) {
    return `${operation.id} has the tag ${operation.tag}, which is not one of --tags.`;
  }
  const isAllowed = roles === undefined || mayCall(operation, roles);
  return isAllowed ? undefined : `${operation.id} requires the ${requiredRoles(operation)}.`;
}

/** One line for each operation that has the most of the words, by tag: a summary seldom has all words of a question. */
export function listOf(operations: readonly Operation[], words = '', tag?: string): string {
  const wanted = words.toLowerCase().match(/\w{2,}/g) ?? [];
  const ofTag = operations.filter((operation) => tag === undefined || operation.tag === tag);
  const hits = ofTag.map(({ id, summary, tag: own }) => {
    const text = `${id} ${summary} ${own}`.toLowerCase();
    return wanted.filter((word) => text.includes(word)).length;
  });
  const least = Math.max(Math.min(wanted.length, 1), ...hits);
  const matching = ofTag.filter((_, index) => hits[index] === least);
  if (matching.length === 0) {
    const tags = [...new Set(operations.map((operation) => operation.tag))];
    return `No operation matches. The tags are ${tags.join(', ')}.`;
  }
  return [...groupBy(matching, (operation) => operation.tag)]
    .map(([name, members]) => [`# ${name}`, ...members.map(({ id, summary }) => `${id}: ${summary}`)].join('\n'))
    .join('\n');
}

/** Describes operations and types by their names: each type that they mention once, however many mention it. */
export function descriptionsOf(names: readonly string[], offered: readonly Operation[], contract: Contract): string {
  const mentioned = new Set<string>();
  const unknown: string[] = [];
  const operations = names.flatMap((name) => {
    const operation = offered.find(({ id }) => id === name);
    if (operation !== undefined) return [descriptionOf(operation, contract, mentioned)];
    if (contract.schemas[name] === undefined) unknown.push(`There is no operation or type ${name}.`);
    mentioned.add(name);
    return [];
  });
  return [...unknown, ...operations, ...declarationsOf([...mentioned], contract)].join('\n');
}

/** What an operation does, its arguments, and what it returns. */
function descriptionOf(operation: Operation, contract: Contract, mentioned: Set<string>): string {
  const parameters = parametersOf(operation).map((parameter) => {
    const { name, required, schema, description } = parameter;
    return `- ${name}${required === true ? '' : '?'}: ${typeOf(schema, contract, mentioned)} // ${firstSentence(description)}`;
  });
  const body = operation.body === undefined ? [] : [`- body: ${typeOf(operation.body, contract, mentioned)}`];
  const returned =
    operation.response === undefined ? [] : [`Returns ${typeOf(operation.response, contract, mentioned)}`];
  // Roles and limits are the service's to enforce.
  const [words = ''] = operation.description.split('**Access and limits**');
  return [`## ${operation.id}`, words.trim(), ...parameters, ...body, ...returned].join('\n');
}

/** Headers that a model does not set: those that this server sends, and the cache condition, which does not apply. */
const otherHeaders = ['Tenant', 'X-Client-Id', 'traceparent', 'If-None-Match'];

/** The parameters that a model sets. */
export function parametersOf({ parameters }: Operation): Parameter[] {
  return parameters.filter((parameter) => parameter.in !== 'header' || !otherHeaders.includes(parameter.name));
}
