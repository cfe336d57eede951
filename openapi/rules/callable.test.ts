import { expect, test } from 'vitest';
import { prepareParameters } from './callable.ts';

const reference = (name: string) => ({ $ref: `#/components/parameters/${name}` });

test('the operations of the bundle have the parameters of their path, and optional ones no example that tools send', () => {
  const document = {
    paths: {
      '/boats/{id}': {
        parameters: [reference('Id')],
        get: { operationId: 'getBoat' },
        put: { operationId: 'updateBoat', parameters: [reference('DryRun')] },
      },
      '/boats': { post: { operationId: 'createBoat' } },
    },
    components: {
      parameters: {
        Id: { name: 'id', in: 'path', required: true, example: 'a' },
        DryRun: { name: 'Dry-Run', in: 'header', example: 'true', schema: { type: 'string', examples: ['true'] } },
        After: { name: 'after', in: 'query', schema: { $ref: '#/components/schemas/Cursor' } },
        Plain: { name: 'plain', in: 'query', schema: { $ref: '#/components/schemas/Plain' } },
      },
      schemas: { Cursor: { type: 'string', maxLength: 9, examples: ['abc'] }, Plain: { type: 'string' } },
    },
  };
  prepareParameters(document);
  expect(document.paths).toEqual({
    '/boats/{id}': {
      get: { operationId: 'getBoat', parameters: [reference('Id')] },
      put: { operationId: 'updateBoat', parameters: [reference('Id'), reference('DryRun')] },
    },
    '/boats': { post: { operationId: 'createBoat' } },
  });
  expect(document.components.parameters).toEqual({
    Id: { name: 'id', in: 'path', required: true, example: 'a' },
    DryRun: { name: 'Dry-Run', in: 'header', 'x-example': 'true', schema: { type: 'string' } },
    After: { name: 'after', in: 'query', schema: { type: 'string', maxLength: 9 } },
    Plain: { name: 'plain', in: 'query', schema: { $ref: '#/components/schemas/Plain' } },
  });
});
