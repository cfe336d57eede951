/**
 * A small Fastify application whose document `@fastify/swagger` derives from its routes, as its users write them. The
 * packages are those of the folder in which it runs.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.cwd(), 'index.js'));
const app = require('fastify')({ ajv: { customOptions: { removeAdditional: false } } });
await app.register(require('@fastify/swagger'), {
  openapi: { openapi: '3.1.0', info: { title: 'Books', version: '1.0.0' } },
});

const id = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'integer', minimum: 1, maximum: 2_147_483_647 } },
};
const fields = {
  title: { type: 'string', minLength: 1, maxLength: 100 },
  pages: { type: 'integer', minimum: 1, maximum: 5000 },
  language: { type: 'string', enum: ['en', 'de', 'fr'], default: 'en' },
};
const stored = { type: 'integer', minimum: 1 };
const book = { type: 'object', required: ['id', 'title', 'pages', 'language'], properties: { id: stored, ...fields } };
const error = {
  description: 'An error.',
  type: 'object',
  required: ['statusCode', 'error', 'message'],
  properties: {
    statusCode: { type: 'integer' },
    error: { type: 'string' },
    message: { type: 'string' },
    code: { type: 'string' },
  },
};
const written = { type: 'object', required: ['title', 'pages'], additionalProperties: false, properties: fields };
const missing = (reply) =>
  reply.code(404).send({ statusCode: 404, error: 'Not Found', message: 'There is no such book.' });

const books = new Map();
let next = 1;
const add = (fields) => {
  const one = { id: next++, ...fields };
  books.set(one.id, one);
  return one;
};
for (const title of ['Emma', 'Ulysses', 'Dracula']) add({ title, pages: 300, language: 'en' });

await app.register(async (routes) => {
  routes.get(
    '/books',
    {
      schema: {
        operationId: 'listBooks',
        querystring: {
          type: 'object',
          properties: {
            language: fields.language,
            limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
            offset: { type: 'integer', minimum: 0, maximum: 100_000, default: 0 },
          },
        },
        response: { 200: { description: 'Books.', type: 'array', items: book }, 400: error },
      },
    },
    async ({ query: { language, limit, offset } }) =>
      [...books.values()].filter((one) => one.language === language).slice(offset, offset + limit),
  );
  routes.post(
    '/books',
    {
      schema: {
        operationId: 'createBook',
        body: written,
        response: { 201: { description: 'The book.', ...book }, 400: error },
      },
    },
    async ({ body }, reply) => reply.code(201).send(add(body)),
  );
  const one = (method, operationId, more, handler) =>
    routes.route({
      method,
      url: '/books/:id',
      schema: { operationId, params: id, ...more, response: { ...more.response, 400: error, 404: error } },
      handler: (request, reply) => {
        const found = books.get(request.params.id);
        return found === undefined ? missing(reply) : handler(found, request, reply);
      },
    });
  const returned = { response: { 200: { description: 'The book.', ...book } } };
  one('GET', 'getBook', returned, async (found) => found);
  one('PUT', 'replaceBook', { body: written, ...returned }, async (found, { body }) => {
    books.set(found.id, { id: found.id, ...body });
    return books.get(found.id);
  });
  one(
    'DELETE',
    'deleteBook',
    { response: { 204: { description: 'Deleted.', type: 'null' } } },
    async (found, _, reply) => {
      books.delete(found.id);
      return reply.code(204).send();
    },
  );
});

app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
await app.listen({ port: Number(process.argv[2]), host: '127.0.0.1' });
