import type { components } from '@financial-automation/spec';
import type { HttpResponse, TestCaller } from '../service.ts';

/** With attributes of any type, such as those of a custom type. */
export type WriteItem = components['schemas']['CustomRecordWriteItem'];
export type WriteResult = Omit<components['schemas']['RecordWriteResult'], 'records'> & { records: WriteItem[] };
type RecordItem = Readonly<Record<string, unknown>>;

/** Sends requests of record operations, over HTTP. */
export function recordsOf(caller: TestCaller) {
  const write = (method: string) => async (records: readonly RecordItem[]) =>
    written(await caller.call<WriteResult>(method, '/api/v1/records', { records }));
  return {
    upsert: write('POST'),
    update: write('PUT'),
    remove: write('DELETE'),
    /** Creates one record; fails the test if it is rejected. */
    async make(type: string, attributes: object, systemRef?: string): Promise<WriteItem & { readonly id: string }> {
      const [item] = await write('POST')([{ type, attributes, ...(systemRef === undefined ? {} : { systemRef }) }]);
      if (item?.id == null || item.status === 'FAILED')
        throw new Error(`The record was not created: ${JSON.stringify(item)}`);
      return { ...item, id: item.id };
    },
    define: (name: string, fields: readonly object[]) =>
      caller.call<Record<string, unknown>>('POST', '/api/v1/records/custom', { name, fields }),
    change: (name: string, body: object, headers?: Record<string, string>) =>
      caller.call<Record<string, unknown>>('PUT', `/api/v1/records/custom/${name}`, body, headers),
    lookup: (type: string, body: object = {}) =>
      caller.call<{ data: Record<string, unknown>[]; total?: number; hasMore: boolean }>(
        'POST',
        `/api/v1/records/batch/${type}`,
        body,
      ),
  };
}

function written({ status, body }: HttpResponse<WriteResult>): WriteItem[] {
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body.records;
}

/** Returns the only item of a response. */
export function only([item, ...others]: readonly WriteItem[]): WriteItem {
  if (item === undefined || others.length > 0) throw new Error('The response does not have exactly one item.');
  return item;
}
