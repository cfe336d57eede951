import { expect, test } from 'vitest';
import { OpenApiDocument } from '../document/document.ts';
import { operationsOf } from '../document/operation.ts';
import type { Exchange } from '../http/call.ts';
import { responseOf } from '../http/client.ts';
import { isDocumentedRelation } from './documented-relation.ts';

const document = await OpenApiDocument.load(new URL('../../../../openapi/openapi.yaml', import.meta.url).pathname);
const body = operationsOf(document).find(({ id }) => id === 'assignStaff')?.body?.contents[0]?.schema ?? {};
const rejectedFor = (detail: string) => ({ response: responseOf(400, {}, JSON.stringify({ detail }), 0) }) as Exchange;

test.each([
  ['/staffJobAssignments/0/endDate', 'endDate must not be before startDate.', true],
  ['/staffJobAssignments/0/endDate', 'endDate is not a date.', false],
  ['/staffJobAssignments/0/endDate', 'endDate must not be before hireDate.', false],
  ['/staffJobAssignments/0/role', 'role does not match startDate.', false],
])('a rejection at %s with "%s" is a documented relation: %s', (pointer, detail, expected) => {
  expect(isDocumentedRelation(document, body, pointer, rejectedFor(detail))).toBe(expected);
});
