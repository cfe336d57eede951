import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { recordsOf, type WriteResult } from '../../../test/modules/records.ts';
import { sampleOf } from '../../../test/nightly.ts';
import { testService } from '../../../test/service.ts';
import { type Field, isFixedIn } from '../../contract/fields.ts';
import { newId } from '../../platform/store/new-id.ts';
import type { RecordType } from './record-type.ts';
import { typesWith } from './standard-types.ts';

const service = await testService({ filled: 'examples' });
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

describe('fields that the contract says cannot change', () => {
  type Shown = Readonly<Record<string, unknown>>;
  const records = types.filter(({ operations }) => operations.includes('UPDATE'));
  const codes = [...typesWith('x-code-type').values()];
  const changed = [...records, ...codes, ...typesWith('x-entry-type').values()];
  const pathOf = (type: RecordType) =>
    `/api/v1/${records.includes(type) ? 'records' : codes.includes(type) ? 'codes' : 'entries'}`;

  async function rowsOf(type: RecordType): Promise<readonly Shown[]> {
    const path = `${pathOf(type)}/batch/${type.name}`;
    const { body } = await administrator.call<{ data: Shown[] }>('POST', path, { pageSize: 100 });
    return body.data.map(({ attributes, ...row }) => ({ ...row, ...Object(attributes) }));
  }

  /** Another value of a field than that of a row, if there is one: of another row, or an example. */
  function otherValue({ name, kind, written }: Field, row: Shown, others: readonly Shown[], ids: readonly unknown[]) {
    const { enum: values = [], examples = [] } = written ?? {};
    const lists: Partial<Record<typeof kind, readonly unknown[]>> = { boolean: [true, false], list: [[], ...examples] };
    const possible = lists[kind] ?? [...ids, ...others.map((other) => other[name]), ...values, ...examples];
    return possible.find((value) => value != null && !isDeepStrictEqual(value, row[name]));
  }

  /** What happens to each of these changes of a row, with pointers to its fields. */
  async function outcomes(type: RecordType, { systemRef }: Shown, changes: readonly object[]) {
    if (changes.length === 0) return [];
    const records = changes.map((attributes) => ({ type: type.name, systemRef, attributes }));
    const method = pathOf(type).endsWith('records') ? 'PUT' : 'POST';
    const { body } = await administrator.call<WriteResult>(method, pathOf(type), { records }, { 'Dry-Run': 'true' });
    return body.records.map(({ status, error }) => {
      const [, field] = /^\/records\/\d+\/attributes\/([^/]+)/.exec(error?.pointer ?? '') ?? [];
      return { status, code: error?.code, field };
    });
  }

  test('updateRecords, upsertCodes and upsertEntries › reject other values of them, and of no other field for the state of the row', async () => {
    const wrong: string[] = [];
    const rejected = new Set<string>();
    const all = new Map(await Promise.all(changed.map(async (type) => [type.name, await rowsOf(type)] as const)));
    for (const type of changed) {
      const others = all.get(type.name) ?? [];
      const fields = [...type.entity.fields.values()].filter(
        ({ written }) => written && !written['x-of-change'] && !written['x-state-machine'],
      );
      for (const row of others) {
        const changes = fields.flatMap((field) => {
          const ids = field.kind === 'list' ? [] : (all.get(field.references ?? '') ?? []).map(({ id }) => id);
          const value = otherValue(field, row, others, ids);
          return value === undefined ? [] : [{ field, change: { [field.name]: value } }];
        });
        const results = await outcomes(
          type,
          row,
          changes.map(({ change }) => change),
        );
        for (const [index, { status, code, field: pointed }] of results.entries()) {
          const { field, change } = changes[index] ?? {};
          const name = `${type.name}.${field?.name}`;
          if (pointed === field?.name) rejected.add(name);
          const isFixed = isFixedIn(row, field?.immutable) || type.entity.machine?.fixed?.includes(String(row.status));
          const isStated = field?.immutable !== undefined || code !== 'INVALID_STATE' || pointed !== field?.name;
          if (isFixed ? status === 'UPDATED' : !isStated)
            wrong.push(`${name} ${row.status ?? ''} ${JSON.stringify(change)}: ${status} ${code}`);
        }
      }
    }
    // A PENDING payment can have no allocations with the status FAILED, which takes them back; and only an approved entry is reversed.
    const conditional = /^Payment\.allocations PENDING|^TimeEntry\.reversesSystemRef/;
    expect(wrong.filter((one) => !conditional.test(one))).toEqual([]);
    const always = changed.flatMap(({ name, entity }) =>
      [...entity.fields.values()].flatMap(({ name: field, immutable = {} }) =>
        immutable === true || 'unless' in immutable ? [`${name}.${field}`] : [],
      ),
    );
    // It says how an import states the tax, and is ignored later.
    expect(always.filter((name) => !rejected.has(name))).toEqual(['Invoice.taxAsStated']);
  });

  test('upsertRecords and upsertEntries › reject a new row with a value that belongs to a change', async () => {
    const seen: string[] = [];
    for (const type of changed) {
      const fields = [...type.entity.fields.values()];
      const isOfChange = ({ written }: Field) => written?.['x-of-change'] === true;
      if (!fields.some(isOfChange)) continue;
      const [row = {}] = await rowsOf(type);
      const copied = fields.filter(({ name, written }) => written && row[name] != null);
      const kept = copied.filter((field) => !isOfChange(field) && !field.written?.['x-state-machine']);
      const attributes = Object.fromEntries(kept.map(({ name, kind }) => [name, kind === 'list' ? [] : row[name]]));
      for (const { name, written } of fields.filter(isOfChange)) {
        if (written?.['x-imports-only']) continue;
        const item = {
          type: type.name,
          systemRef: newId(),
          attributes: { ...attributes, [name]: written?.examples?.[0] },
        };
        const { body } = await administrator.call<WriteResult>('POST', pathOf(type), { records: [item] });
        const detail = `${name} belongs to a change of an existing ${type.name}. Omit it in a new one.`;
        expect(body.records[0]).toMatchObject({ error: { detail, pointer: `/records/0/attributes/${name}` } });
        seen.push(name);
      }
    }
    expect(seen.length).toBeGreaterThan(10);
  });
});
