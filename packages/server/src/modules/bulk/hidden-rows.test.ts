import { expect, test } from 'vitest';
import { recordsOf } from '../../../test/modules/records.ts';
import { sampleOf } from '../../../test/nightly.ts';
import { testService } from '../../../test/service.ts';
import { newId } from '../../platform/store/new-id.ts';
import type { RecordType } from './record-type.ts';
import { typesWith } from './standard-types.ts';

const service = await testService({ filled: 'examples', isJudgedNightly: true });
const { tenant } = service;
const administrator = await service.signIn({ roles: ['API_ADMIN'], tenant });
const admin = recordsOf(administrator);
// The demo firm has the standard numbers and texts.
const orgs = await administrator.call<{ data: { id: string }[] }>('POST', '/gql/v1/orgs', {});
await admin.make('DocumentSeries', { orgId: orgs.body.data[0]?.id, documentType: 'INVOICE', pattern: 'H-{NNNNN}' });
await admin.make('TaxCode', { name: 'GST', code: 'GST', taxes: [{ name: 'GST', ratePercent: '5' }] });
await admin.make('MailTemplate', {
  orgId: orgs.body.data[0]?.id,
  name: 'INVOICE',
  subject: 'Invoice',
  text: 'Attached',
});
/** May write records, and none of a standard type. */
const writer = await service.signIn({ roles: ['RECORD_W'], tenant });

const methods = { UPSERT: 'POST', UPDATE: 'PUT', DELETE: 'DELETE' } as const;
const types = [...typesWith('x-record').values()].filter(({ writeRoles }) => writeRoles.length > 0);
const items = types.flatMap((type) => type.operations.map((operation) => [operation, type.name, type] as const));

/** What callers can send of a row, whether it exists or not. */
function requestsOf(
  { name: type }: RecordType,
  systemRef: string,
  isDeletion: boolean,
): [item: object, headers?: Record<string, string>][] {
  const item = { type, systemRef, ...(isDeletion ? {} : { attributes: {} }) };
  const invalid = isDeletion ? { ...item, nonsense: true } : { ...item, attributes: { nonsense: true } };
  return [
    [item],
    [invalid],
    [{ ...item, ifVersion: 1 }],
    [{ ...item, ifVersion: 2_000_000 }],
    [item, { 'If-Match': '"0-1"' }],
    [item, { 'If-Match': '*' }],
  ];
}

test('there are types that require more than RECORD_W', () => {
  expect(types.length).toBeGreaterThan(20);
});

test.each(sampleOf(items, 8))(
  '%s › an item of the type %s does not say whether its row exists to callers who may not write it',
  async (operation, _name, type) => {
    const { body } = await admin.lookup(type.name, { pageSize: 1 });
    const existing = String(body.data[0]?.systemRef);
    expect(body.data.length, 'a row that exists').toBe(1);
    const unknown = newId();
    const [known, others] = [existing, unknown].map((ref) => requestsOf(type, ref, operation === 'DELETE'));
    for (const [index, [item, headers]] of (known ?? []).entries()) {
      const send = (record: unknown) =>
        writer.call(methods[operation], '/api/v1/records', { records: [record] }, headers);
      const [first, second] = [await send(item), await send(others?.[index]?.[0])];
      const anonymous = ({ status, body: response }: typeof first) => {
        const text = JSON.stringify(response).replaceAll(existing, 'ref').replaceAll(unknown, 'ref');
        return [
          status,
          text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{22}/g, (id) =>
            id === Reflect.get(Object(response), 'requestId') ? 'request' : id,
          ),
        ];
      };
      expect(anonymous(first)).toEqual(anonymous(second));
      expect(JSON.stringify(first.body)).toMatch(/FORBIDDEN|VALIDATION_ERROR/);
    }
  },
);

test('an item that fails says which row it is about to callers who may write it', async () => {
  const { body } = await admin.lookup('Client', { pageSize: 1 });
  const [row] = body.data;
  const [failed] = await admin.update([
    { type: 'Client', systemRef: String(row?.systemRef), attributes: { name: null } },
  ]);
  expect(failed).toMatchObject({ status: 'FAILED', id: row?.id });
});
