/** Whoever applies all events, and reads nothing else, has what the reads show. */
import { isDeepStrictEqual } from 'node:util';
import { contract, type Schema, schemaOf } from '../src/contract/contract.ts';
import type { Embed } from '../src/entity/model.ts';
import { entityOf } from '../src/entity/registry.ts';
import type { TestCaller } from './service.ts';

/** The roles of a caller who receives all events. */
export const mirrorRoles = ['API_ADMIN', 'PYMT_EVNT_ALL'];

/** The types whose rows can be read and that have events, by where they are read. */
const urls = new Map(
  Object.entries(contract.components.schemas).flatMap(([name, schema]) => {
    const type = schema['x-type'] ?? name;
    const { recordsUrl } = schema['x-record'] ?? schema['x-entry-type'] ?? schema['x-code-type'] ?? {};
    const hasEvents = Object.values(contract.webhooks).some(({ post }) => post['x-event'].entityType === type);
    return recordsUrl !== undefined && hasEvents ? [[type, recordsUrl] as const] : [];
  }),
);

type Row = Readonly<Record<string, unknown>> & { readonly id: string };

/** @param caller has `mirrorRoles`. @returns what events and reads of a tenant say differently, of the fields that both have */
export async function mirrorDifferences(caller: TestCaller): Promise<string[]> {
  const mirror = await mirrored(caller);
  const found: string[] = [];
  for (const [type, url] of urls) {
    const skipped = new Set([...untold(type), ...labels(type)]);
    for (const row of await rowsOf(caller, url)) {
      const data = mirror.get(`${type} ${row.id}`);
      if (data === undefined) {
        found.push(`${type} ${row.id}: no event`);
        continue;
      }
      for (const [name, value] of Object.entries(row)) {
        if (skipped.has(name) || !(name in data)) continue;
        if (!isDeepStrictEqual(value, data[name]))
          found.push(`${type}.${name}: reads ${JSON.stringify(value)}, events ${JSON.stringify(data[name])}`);
      }
    }
  }
  return found;
}

/** The data of the last event of each row, by type and ID. */
async function mirrored(caller: TestCaller): Promise<Map<string, Row>> {
  const found = new Map<string, { readonly sequence: number; readonly data: Row }>();
  for (const query of ['', '&entityType=Payment&filterExpression=allPayments']) {
    for (let after = ''; ; ) {
      const { body, status } = await caller.call<{
        data: { entityType: string; entityId: string; sequence: number; data: Row }[];
        hasMore: boolean;
        nextCursor: string;
      }>('GET', `/api/v1/events?pageSize=1000${query}${after}`);
      if (status !== 200) throw new Error(`Events: ${status} ${JSON.stringify(body)}`);
      for (const { entityType, entityId, sequence, data } of body.data) {
        const key = `${entityType} ${entityId}`;
        if ((found.get(key)?.sequence ?? -1) < sequence) found.set(key, { sequence, data });
      }
      if (!body.hasMore) break;
      after = `&after=${encodeURIComponent(body.nextCursor)}`;
    }
  }
  return new Map([...found].map(([key, { data }]) => [key, data]));
}

async function rowsOf(caller: TestCaller, url: string): Promise<Row[]> {
  const isLookup = url.startsWith('/api/');
  const rows: Row[] = [];
  for (let page = 0; ; page += isLookup ? 1 : 1000) {
    const { body } = await caller.call<{ data: Row[]; hasMore: boolean }>('POST', url, {
      page,
      pageSize: isLookup ? 100 : 1000,
    });
    rows.push(...body.data.map((row) => (isLookup ? { ...row, ...Object(row.attributes) } : row)));
    if (!body.hasMore) return rows;
  }
}

/** The fields that change with the day alone, and those that events leave out because not every subscriber may read them. */
function untold(type: string): string[] {
  const schema: Schema = contract.components.schemas[type] ?? {};
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const target = property.$ref === undefined ? property : { ...schemaOf(property.$ref), ...property };
    return target['x-changes-with-day'] === true ||
      name === 'rateCardAssignment' ||
      target['x-read-roles'] !== undefined
      ? [name]
      : [];
  });
}

/** The fields that show values of another row which are its labels here: its own events tell them. */
function labels(type: string): string[] {
  const { embeds, owned } = entityOf(type) ?? { embeds: [], owned: [] };
  const isLabel = ({ onChange }: Embed) => onChange === 'label';
  return [
    ...[...embeds].flatMap(([{ name }, embed]) => (isLabel(embed) ? [name] : [])),
    ...[...owned].flatMap(([{ name }, list]) => (Object.values(list.embeds ?? {}).some(isLabel) ? [name] : [])),
  ];
}
