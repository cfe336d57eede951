import { expect, test } from 'vitest';
import { rename } from './renamed.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

test('rename gives a schema its name in the bundle wherever it is referred to, and keeps the name of the type', () => {
  const document = {
    paths: { '/files': { get: { schema: ref('File') } } },
    components: {
      schemas: {
        File: { type: 'object', 'x-schema-name': 'FileMetadata', properties: { folder: ref('Folder') } },
        Folder: { properties: { file: ref('File') }, discriminator: { mapping: { FILE: ref('File').$ref } } },
      },
    },
  };
  rename(document);
  expect(document).toEqual({
    paths: { '/files': { get: { schema: ref('FileMetadata') } } },
    components: {
      schemas: {
        FileMetadata: { type: 'object', 'x-type': 'File', properties: { folder: ref('Folder') } },
        Folder: {
          properties: { file: ref('FileMetadata') },
          discriminator: { mapping: { FILE: ref('FileMetadata').$ref } },
        },
      },
    },
  });
});
