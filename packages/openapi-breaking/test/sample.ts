/**
 * A small contract with one copy for each row of a table of changes: each row changes its own copy, and one comparison,
 * which takes a second, tests them all.
 */
import { type Bundle, keysOf } from '../src/document.ts';

/**
 * Values by JSON pointer that a row writes into its copy. Undefined removes; a function derives the new value from the
 * old one.
 */
export type Edits = Readonly<Record<string, unknown>>;

const reference = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}§` });
const json = (schema: unknown) => ({ content: { 'application/json': { schema } } });

/** § is replaced by the number of the copy. */
function copy(): object {
  const facts = { tags: ['staff'], summary: 'Staff', 'x-roles': ['STAFF_R', 'STAFF_W'], 'x-rate-limit': 'write§' };
  return {
    'x-rate-limit-policies': { 'write§': { limit: 600, window: 60 }, 'token§': { limit: 30, window: 60 } },
    'x-body-limits': { 'write§': 1_048_576 },
    paths: {
      '/§/staff/{id}': {
        parameters: [reference('parameters', 'Id')],
        get: {
          operationId: 'getStaff§',
          ...facts,
          'x-idempotent': true,
          parameters: [reference('parameters', 'PageSize'), reference('parameters', 'Sources')],
          responses: { 200: { description: 'It.', ...json(reference('schemas', 'Staff')) } },
        },
        put: {
          operationId: 'updateStaff§',
          ...facts,
          'x-body-limit': 'write§',
          'x-idempotent': 'key',
          parameters: [reference('parameters', 'IfMatch')],
          security: [],
          requestBody: { required: false, ...json(reference('schemas', 'StaffUpdate')) },
          responses: {
            200: {
              description: 'It.',
              headers: { ETag: { required: true, schema: { type: 'string' } } },
              ...json(reference('schemas', 'Staff')),
            },
            412: { description: 'Another version.' },
          },
        },
      },
    },
    webhooks: {
      'staffUpdated§': {
        post: {
          operationId: 'staffUpdated§',
          parameters: [reference('parameters', 'Signature')],
          requestBody: json(reference('schemas', 'Event')),
          responses: { '2XX': { description: 'Taken.' }, 410: { description: 'No more.' } },
        },
      },
    },
    components: {
      parameters: {
        'Id§': { name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
        'PageSize§': { name: 'pageSize', in: 'query', schema: { type: 'integer', maximum: 1000, default: 50 } },
        'Sources§': {
          name: 'source',
          in: 'query',
          explode: true,
          schema: { type: 'array', maxItems: 4, items: { type: 'string', enum: ['PORTAL', 'UPLOAD'] } },
        },
        'IfMatch§': { name: 'If-Match', in: 'header', schema: { type: 'string', pattern: '^"[0-9]+"$' } },
        'Reason§': { name: 'Reason', in: 'header', required: true, schema: { type: 'string' } },
        'Signature§': { name: 'webhook-signature', in: 'header', required: true, schema: { type: 'string' } },
      },
      schemas: {
        'Base§': { type: 'object', required: ['id'], properties: { id: { type: 'string', format: 'uuid' } } },
        'Fields§': {
          type: 'object',
          properties: {
            note: { type: ['string', 'null'], minLength: 1, maxLength: 500 },
            status: { type: 'string', enum: ['ACTIVE', 'LEFT'] },
          },
        },
        'Staff§': {
          type: 'object',
          description: 'A person.',
          'x-record': { operations: ['UPSERT', 'DELETE'], readRoles: ['STAFF_R'], writeRoles: ['STAFF_W'] },
          required: ['name', 'hours'],
          allOf: [
            reference('schemas', 'Base'),
            reference('schemas', 'Fields'),
            {
              type: 'object',
              properties: {
                name: { type: 'string', minLength: 1, maxLength: 200 },
                hours: { type: 'integer' },
                card: { anyOf: [{ type: 'string' }, { type: 'null' }] },
              },
            },
          ],
          unevaluatedProperties: false,
        },
        'StaffUpdate§': {
          type: 'object',
          minProperties: 1,
          allOf: [
            reference('schemas', 'Fields'),
            {
              type: 'object',
              properties: {
                email: { type: 'string', format: 'email', maxLength: 200 },
                size: { type: 'integer', default: 1 },
                card: { oneOf: [{ type: 'string' }, { type: 'null' }] },
                extra: { type: 'object', properties: { open: { type: 'boolean' } } },
              },
            },
          ],
          unevaluatedProperties: false,
        },
        'Event§': {
          type: 'object',
          required: ['operation', 'at'],
          properties: { operation: { const: 'UPDATE' }, at: { type: 'string', format: 'date-time' } },
        },
      },
      examples: { 'staff§': { summary: 'A person', value: {} } },
    },
  };
}

/** Combines the edited copies in one bundle. */
export function bundleOf(rows: readonly Edits[], root: Edits = {}): Bundle {
  const bundle: Bundle = {
    openapi: '3.1.0',
    info: { title: 'A sample', version: '1.0.0' },
    servers: [{ url: 'https://one.example' }, { url: 'https://two.example' }],
    security: [{ bearerAuth: [] }],
    'x-search-limits': { depth: 8, weights: { relation: 10, pattern: 2 } },
    'x-write-limits': { bulk: 10 },
    'x-row-limits': { file: 10 },
    'x-tenant-limits': { boats: 10 },
    'x-rate-limit-policies': {},
    'x-body-limits': {},
    paths: {},
    components: { securitySchemes: { bearerAuth: { type: 'http', scheme: 'bearer' } } },
  } as Bundle;
  for (const [index, edits] of rows.entries()) {
    const text = JSON.stringify(edited(copy(), edits)).replaceAll('§', numberOf(index));
    merge(bundle as unknown as Tree, JSON.parse(text));
  }
  return edited(bundle, root);
}

/** The number of a row in names and pointers of the bundle. */
export function numberOf(index: number): string {
  return `N${String(index).padStart(3, '0')}`;
}

type Tree = Record<string, unknown>;

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function merge(target: Tree, source: Tree): void {
  for (const [key, value] of Object.entries(source)) {
    const there = target[key];
    if (isTree(there) && isTree(value)) merge(there, value);
    else target[key] = value;
  }
}

function edited<Document extends object>(document: Document, edits: Edits): Document {
  for (const [pointer, value] of Object.entries(edits)) {
    const keys = keysOf(pointer);
    const last = keys.pop() ?? '';
    const holder: Tree = keys.reduce((inside: Tree, key) => {
      const next = inside[key];
      // An edit without a target would test nothing.
      if (typeof next !== 'object' || next === null) throw new Error(`The sample has no ${pointer}.`);
      return next as Tree;
    }, document as Tree);
    const next: unknown = typeof value === 'function' ? value(holder[last]) : value;
    if (next !== undefined) holder[last] = next;
    else if (Array.isArray(holder)) holder.splice(Number(last), 1);
    else delete holder[last];
  }
  return document;
}
