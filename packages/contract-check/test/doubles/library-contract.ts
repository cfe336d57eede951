import type { JsonObject } from '../../src/json.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: JsonObject) => ({ content: { 'application/json': { schema } } });
const rejection = { description: 'Rejected.', content: { 'application/problem+json': { schema: ref('Problem') } } };
const rejections = (...statuses: number[]) =>
  Object.fromEntries([401, ...statuses].map((status) => [String(status), rejection]));
const etag = { ETag: { schema: { type: 'string' } } };
const own = {
  id: { type: 'string', format: 'uuid', readOnly: true },
  version: { type: 'integer', readOnly: true },
  createdAt: { type: 'string', format: 'date-time', readOnly: true },
  updatedAt: { type: 'string', format: 'date-time', readOnly: true },
};
const parameter = (place: string, name: string, schema: JsonObject) => ({
  in: place,
  name,
  schema,
  ...(place === 'path' ? { required: true } : {}),
});
const idOf = (name: string) => parameter('path', name, { type: 'string', format: 'uuid' });
const word = { type: 'string', minLength: 1, maxLength: 60, pattern: '^[A-Za-z][A-Za-z0-9 ]*$' };
const uniqueWord = { ...word, 'x-contract-check': { unique: true } };
const pages = [
  parameter('query', 'limit', { type: 'integer', minimum: 1, maximum: 100, default: 20 }),
  parameter('query', 'offset', { type: 'integer', minimum: 0, default: 0 }),
];

const bookMembers = {
  title: word,
  subtitle: { ...word, type: ['string', 'null'] },
  pages: { type: 'integer', minimum: 1, maximum: 5000 },
  price: { type: 'string', pattern: '^[1-9][0-9]{0,3}\\.[0-9]{2}$' },
  genre: { type: 'string', enum: ['novel', 'poetry', 'drama', 'essay'], default: 'novel' },
  inPrint: { type: 'boolean', default: true },
  tags: { type: 'array', maxItems: 5, items: word, examples: [['old', 'rare']] },
  publisher: { type: 'object', required: ['name'], properties: { name: word, city: word } },
  chapters: {
    type: 'array',
    maxItems: 5,
    items: {
      type: 'object',
      required: ['name', 'pages'],
      properties: {
        name: word,
        pages: { type: 'integer', minimum: 1, maximum: 900 },
        draft: { type: 'boolean', default: false },
      },
    },
  },
  publishedOn: { type: 'string', format: 'date' },
};

const book = {
  title: 'The river',
  subtitle: 'Its course',
  pages: 240,
  price: '12.95',
  genre: 'essay',
  inPrint: false,
  tags: ['water', 'travel'],
  publisher: { name: 'Kestrel', city: 'Bremen' },
  chapters: [
    { name: 'Source', pages: 20 },
    { name: 'Mouth', pages: 30 },
  ],
  publishedOn: '2020-02-29',
};

const list = (id: string, name: string, more: JsonObject[] = [], ...rejected: number[]) => ({
  operationId: id,
  parameters: [...pages, ...more],
  responses: {
    200: {
      description: 'A page.',
      ...json({
        type: 'object',
        required: ['data', 'total'],
        properties: { data: { type: 'array', items: ref(name) }, total: { type: 'integer' } },
      }),
    },
    ...rejections(...rejected),
  },
});

const ifMatch = parameter('header', 'If-Match', { type: 'string' });

export const contract: JsonObject = {
  openapi: '3.1.0',
  info: { title: 'Shelf', version: '1' },
  security: [{ bearer: [] }],
  paths: {
    '/books': {
      get: list('listBooks', 'Book'),
      post: {
        operationId: 'createBook',
        parameters: [parameter('header', 'Idempotency-Key', { type: 'string', minLength: 8 })],
        requestBody: { required: true, content: { 'application/json': { schema: ref('Book'), example: book } } },
        responses: {
          201: {
            description: 'Created.',
            headers: { Location: { schema: { type: 'string' } }, ...etag },
            ...json(ref('Book')),
            links: { book: { operationId: 'getBook', parameters: { bookId: '$response.body#/id' } } },
          },
          ...rejections(400, 409),
        },
      },
    },
    '/books/{bookId}': {
      parameters: [idOf('bookId')],
      get: {
        operationId: 'getBook',
        parameters: [parameter('header', 'If-None-Match', { type: 'string' })],
        responses: {
          200: { description: 'The book.', headers: etag, ...json(ref('Book')) },
          304: { description: 'Not modified.' },
          ...rejections(404),
        },
      },
      head: {
        operationId: 'headBook',
        responses: {
          200: { description: 'The book.', headers: etag },
          404: { description: 'Not found.' },
          401: { description: 'Unauthenticated.' },
        },
      },
      put: {
        operationId: 'replaceBook',
        parameters: [ifMatch],
        requestBody: { required: true, content: { 'application/json': { schema: ref('Book'), example: book } } },
        responses: {
          200: { description: 'Stored.', headers: etag, ...json(ref('Book')) },
          ...rejections(400, 404, 412, 428),
        },
      },
      patch: {
        operationId: 'changeBook',
        parameters: [ifMatch],
        requestBody: { required: true, content: { 'application/json': { schema: ref('BookChange') } } },
        responses: {
          200: { description: 'Stored.', headers: etag, ...json(ref('Book')) },
          ...rejections(400, 404, 412),
        },
      },
      delete: {
        operationId: 'deleteBook',
        parameters: [ifMatch],
        responses: { 204: { description: 'Gone.' }, ...rejections(404, 412) },
      },
    },
    '/books/{bookId}/sales': {
      parameters: [idOf('bookId')],
      get: {
        operationId: 'getSales',
        responses: {
          200: {
            description: 'How many were sold.',
            ...json({ type: 'object', required: ['sold'], properties: { sold: { type: 'integer' } } }),
          },
          ...rejections(404),
        },
      },
    },
    '/books/{bookId}/lend': {
      parameters: [idOf('bookId')],
      post: {
        operationId: 'lendBook',
        responses: { 200: { description: 'Lent.', ...json(ref('Book')) }, ...rejections(404, 409) },
      },
    },
    '/books/{bookId}/notes': {
      parameters: [idOf('bookId')],
      get: list('listNotes', 'Note', [], 404),
      post: {
        operationId: 'createNote',
        requestBody: { required: true, content: { 'application/json': { schema: ref('NoteInput') } } },
        responses: { 201: { description: 'Created.', ...json(ref('Note')) }, ...rejections(400, 404) },
      },
    },
    '/books/{bookId}/notes/{noteId}': {
      parameters: [idOf('bookId'), idOf('noteId')],
      get: {
        operationId: 'getNote',
        responses: { 200: { description: 'The book.', ...json(ref('Note')) }, ...rejections(404) },
      },
    },
    '/shelves': {
      get: list('listShelves', 'Shelf', [parameter('query', 'include_deleted', { type: 'boolean', default: false })]),
    },
    '/shelves/{code}': {
      parameters: [parameter('path', 'code', { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9-]{2,39}$' })],
      get: {
        operationId: 'getShelf',
        parameters: [parameter('header', 'If-Modified-Since', { type: 'string' })],
        responses: {
          200: {
            description: 'The book.',
            headers: { 'Last-Modified': { schema: { type: 'string' } } },
            ...json(ref('Shelf')),
          },
          304: { description: 'Not modified.' },
          ...rejections(404),
        },
      },
      put: {
        operationId: 'putShelf',
        requestBody: { required: true, content: { 'application/json': { schema: ref('ShelfInput') } } },
        responses: {
          200: { description: 'Replaced.', ...json(ref('Shelf')) },
          201: { description: 'Created.', ...json(ref('Shelf')) },
          ...rejections(400),
        },
      },
      delete: {
        operationId: 'deleteShelf',
        parameters: [parameter('header', 'If-Unmodified-Since', { type: 'string' })],
        responses: { 204: { description: 'Gone.' }, ...rejections(404, 412) },
      },
    },
    '/authors': {
      get: list('listAuthors', 'Author', [parameter('query', 'inactive', { type: 'boolean', default: false })]),
      post: {
        operationId: 'createAuthor',
        requestBody: { required: true, content: { 'application/json': { schema: ref('AuthorInput') } } },
        responses: {
          201: {
            description: 'Created.',
            headers: { Location: { schema: { type: 'string' } } },
            ...json(ref('Author')),
          },
          ...rejections(400, 409),
        },
      },
    },
    '/authors/{id}': {
      parameters: [idOf('id')],
      get: {
        operationId: 'getAuthor',
        responses: { 200: { description: 'The book.', headers: etag, ...json(ref('Author')) }, ...rejections(404) },
      },
      patch: {
        operationId: 'changeAuthor',
        requestBody: { required: true, content: { 'application/json': { schema: ref('AuthorChange') } } },
        responses: {
          200: { description: 'Stored.', headers: etag, ...json(ref('Author')) },
          ...rejections(400, 404, 409),
        },
      },
      delete: {
        operationId: 'deleteAuthor',
        responses: { 200: { description: 'Inactive.', ...json(ref('Author')) }, ...rejections(404) },
      },
    },
    '/copies': { get: list('listCopies', 'Copy') },
    '/copies/{id}': {
      parameters: [idOf('id')],
      get: {
        operationId: 'getCopy',
        responses: { 200: { description: 'The book.', headers: etag, ...json(ref('Copy')) }, ...rejections(404) },
      },
    },
    '/copies/upsert': {
      post: {
        operationId: 'upsertCopies',
        requestBody: {
          required: true,
          ...json({
            type: 'object',
            required: ['copies'],
            additionalProperties: false,
            properties: { copies: { type: 'array', minItems: 1, maxItems: 20, items: ref('CopyInput') } },
          }),
        },
        responses: {
          200: {
            description: 'The result of each item.',
            ...json({
              type: 'object',
              required: ['results'],
              properties: {
                results: { type: 'array', items: ref('CopyResult') },
                failed_count: { type: 'integer' },
              },
            }),
          },
          ...rejections(400),
        },
      },
    },
  },
  components: {
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    schemas: {
      Problem: {
        type: 'object',
        required: ['title', 'status'],
        properties: { title: { type: 'string' }, status: { type: 'integer' } },
      },
      Book: {
        type: 'object',
        required: ['id', 'title', 'pages', 'version', 'createdAt', 'updatedAt'],
        properties: {
          ...own,
          ...bookMembers,
          state: { type: 'string', enum: ['free', 'lent'], readOnly: true },
          secret: { type: 'string', writeOnly: true },
        },
      },
      BookChange: { type: 'object', minProperties: 1, additionalProperties: false, properties: bookMembers },
      AuthorInput: {
        type: 'object',
        required: ['name'],
        additionalProperties: false,
        properties: {
          name: uniqueWord,
          country: { type: 'string', enum: ['DE', 'FR', 'US'], default: 'DE' },
          note: { ...word, type: ['string', 'null'] },
        },
      },
      AuthorChange: {
        type: 'object',
        minProperties: 1,
        additionalProperties: false,
        properties: {
          name: uniqueWord,
          country: { type: 'string', enum: ['DE', 'FR', 'US'] },
          note: { ...word, type: ['string', 'null'] },
          version: { type: 'integer' },
        },
      },
      Author: {
        type: 'object',
        required: ['id', 'name', 'active', 'version'],
        properties: {
          ...own,
          name: word,
          country: { type: 'string' },
          note: { type: ['string', 'null'] },
          active: { type: 'boolean' },
        },
      },
      NoteInput: {
        type: 'object',
        required: ['text'],
        additionalProperties: false,
        properties: { text: word },
      },
      Note: {
        type: 'object',
        required: ['id', 'bookId', 'text'],
        properties: { ...own, bookId: { type: 'string' }, text: word },
      },
      ShelfInput: {
        type: 'object',
        required: ['place'],
        additionalProperties: false,
        properties: { place: word, height: { type: 'integer', minimum: 1, maximum: 300 } },
      },
      Shelf: {
        type: 'object',
        required: ['code', 'place'],
        properties: { code: { type: 'string' }, place: word, height: { type: 'integer' } },
      },
      CopyInput: {
        type: 'object',
        required: ['code'],
        additionalProperties: false,
        properties: {
          code: word,
          condition: { type: 'string', enum: ['good', 'worn'], default: 'good' },
          note: { ...word, type: ['string', 'null'] },
          bookId: { type: 'string', format: 'uuid' },
        },
      },
      Copy: {
        type: 'object',
        required: ['id', 'code'],
        properties: {
          id: { type: 'string', format: 'uuid' },
          version: { type: 'integer' },
          code: word,
          condition: { type: 'string' },
          note: { type: ['string', 'null'] },
          bookId: { type: 'string' },
        },
      },
      CopyResult: {
        type: 'object',
        required: ['index', 'id', 'code', 'error'],
        properties: {
          index: { type: 'integer' },
          id: { type: ['string', 'null'] },
          code: { type: 'string' },
          error: { anyOf: [{ type: 'null' }, { type: 'object', properties: { message: { type: 'string' } } }] },
        },
      },
    },
  },
};
