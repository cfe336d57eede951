import { expect, test } from 'vitest';
import { recordsOf, type WriteResult } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';

const service = await sharedService();
await recordsOf(service).define('Note', [
  { name: 'title', type: 'STRING' },
  { name: 'data', type: 'JSON' },
]);

/** Sends records as JSON text: JavaScript could not represent the tested values. */
async function upsert(...records: string[]) {
  const { status, body } = await service.call<WriteResult>(
    'POST',
    '/api/v1/records',
    `{"records":[${records.join()}]}`,
    {
      'Content-Type': 'application/json',
    },
  );
  expect(status).toBe(200);
  return body.records;
}
let notes = 0;
const note = (attributes: string) => `{"type":"Note","systemRef":"note-${++notes}","attributes":${attributes}}`;

test.each([
  ['__proto__ as an attribute', '{"__proto__":{"title":"x"}}', '/__proto__'],
  ['__proto__ in a value', '{"title":"x","data":{"deep":[{"__proto__":1}]}}', '/data/deep/0/__proto__'],
  ['a number with too many digits', '{"data":{"amount":12345678901234567890}}', '/data/amount'],
  ['a number with too many places', '{"data":[0.1234567890123456789]}', '/data/0'],
  ['a number that is too large', '{"data":1e400}', '/data'],
])('a record with %s fails alone', async (_name, attributes, pointer) => {
  const [before, wrong, after] = await upsert(note('{"title":"a"}'), note(attributes), note('{"title":"b"}'));
  expect([before?.status, after?.status]).toEqual(['CREATED', 'CREATED']);
  expect(wrong).toMatchObject({
    status: 'FAILED',
    error: { code: 'VALIDATION_ERROR', pointer: `/records/1/attributes${pointer}` },
  });
});

test('a number that JavaScript represents exactly is stored unchanged', async () => {
  const [written] = await upsert(
    note('{"data":{"tenth":0.1,"large":1e300,"exact":100000000000000000000,"negative":-2.5e-7}}'),
  );
  expect(written).toMatchObject({
    status: 'CREATED',
    attributes: { data: { tenth: 0.1, large: 1e300, exact: 1e20, negative: -2.5e-7 } },
  });
});

test('createCustomRecordType rejects a default that cannot be stored, with and without an Idempotency-Key', async () => {
  const body = '{"name":"Odd","fields":[{"name":"data","type":"JSON","defaultValue":{"a":1e400}}]}';
  for (const key of [null, 'odd-type']) {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key };
    const { status, body: problem } = await service.call('POST', '/api/v1/records/custom', body, headers);
    expect({ status, problem }).toMatchObject({ status: 400, problem: { code: 'VALIDATION_ERROR' } });
  }
});
