import { expect, test } from 'vitest';
import { contract, type Schema } from './contract.ts';
import { contractAjv } from './contract-ajv.ts';
import { resolved } from './fields.ts';
import { referred } from './parameters.ts';
import { asOfToday } from './stored-values.ts';

type Json = Record<string, unknown>;

/** A row as an earlier release stored it: without the fields that were added since, and with one that has been removed. */
function ofEarlierRelease(schema: Schema, value: unknown): unknown {
  const { items, properties, required = [], oneOf } = resolved(schema);
  if (Array.isArray(value) && items !== undefined) return value.map((item) => ofEarlierRelease(items, item));
  if (typeof value !== 'object' || value === null || properties === undefined || oneOf !== undefined) return value;
  const isAdded = (name: string) => {
    const { type, 'x-on-create': initial } = resolved(properties[name] ?? {});
    return required.includes(name) && (initial?.value !== undefined || [type].flat().includes('null'));
  };
  const kept = Object.entries(value).filter(([name]) => !isAdded(name));
  const stored = kept.map(([name, held]) => [name, ofEarlierRelease(properties[name] ?? {}, held)]);
  return { ...Object.fromEntries(stored), removedSince: 'A' };
}

const events = Object.entries(contract.webhooks).flatMap(([name, { post }]) => {
  const { schema, examples } = post.requestBody.content['application/json'];
  return Object.values(examples).map((example) => [name, schema, referred(example).value as { data: Json }] as const);
});

const ajv = contractAjv({ allErrors: true, useDefaults: false, verbose: false });

test.each(events)(
  'the row of %s is read as of today, whatever was added or removed since it was stored',
  (_, schema, event) => {
    const { data } = resolved(schema).properties ?? {};
    const stored = ofEarlierRelease(data ?? {}, event.data) as Json;
    const validate = ajv.compile(schema);
    expect(validate({ ...event, data: stored })).toBe(false);
    const read = asOfToday(data ?? {}, stored);
    validate({ ...event, data: read });
    expect(validate.errors ?? []).toEqual([]);
    // What is of today already is not written again.
    expect(asOfToday(data ?? {}, event.data)).toBe(event.data);
  },
);
