import { Random } from '@financial-automation/demo-data/profiles/random';
import { expect, test } from 'vitest';
import { type Choices, onlyRequired, withItems, withValue } from '../../test/bounds/bodies.ts';
import { type Door, operationDoors, rowDoors, sendRows, type Written } from '../../test/bounds/doors.ts';
import { decimalsAccepted, extremesOf, hasType, isAccepted, type Place, placesIn } from '../../test/bounds/places.ts';
import { Reads } from '../../test/bounds/reads.ts';
import { World } from '../../test/bounds/world.ts';
import { testService, violationsOf } from '../../test/service.ts';
import { checkRows, describeFinding, type RowPosition } from '../operator/rows.ts';

/** Number of random writes. Unless it is set, all tests take a sample. */
const isSample = process.env.BOUND_WRITES === undefined;
const writes = Number(process.env.BOUND_WRITES ?? 30);
const random = new Random(Number(process.env.BOUND_SEED ?? 1));

const service = await testService({ sandbox: true });
const world = await World.create(service);
const rows = rowDoors(world, service);
const operations = operationDoors(world, service);
const accepted = new Map<string, number>();

/** Rejections that do not say which value is wrong, or which bound it exceeds. */
const unclear: string[] = [];
const vague = /out of range|conflicts with other values|exceeds the range|does not match the required format/;

async function send(door: Door, choices: readonly Choices[]): Promise<readonly Written[]> {
  const bodies = choices.map((one) => door.body(one));
  const written = await door.send(bodies);
  for (const [index, { isAccepted, detail }] of written.entries()) {
    if (isAccepted) accepted.set(door.name, (accepted.get(door.name) ?? 0) + 1);
    if (vague.test(detail)) unclear.push(`${door.name}: ${detail} ${JSON.stringify(bodies[index])?.slice(0, 2_000)}`);
  }
  return written;
}

/** All places in a full run, and otherwise some of them. */
function some(door: Door, share: number): readonly Place[] {
  const places = placesIn(door.schema);
  return isSample ? places.filter(() => random.chance(share)) : places;
}

const atBounds = ({ pointer, schema }: Place): Choices[] =>
  schema.items === undefined
    ? extremesOf(schema, world.bodies.next()).at.map((value) => withValue(pointer, value))
    : [withItems(pointer, schema.maxItems ?? 1)];

const overBounds = ({ pointer, schema }: Place): Choices[] =>
  schema.items === undefined
    ? extremesOf(schema, world.bodies.next()).over.map((value) => withValue(pointer, value))
    : [withItems(pointer, (schema.maxItems ?? 1) + 1)];

/** Reads everything. */
async function readAll(): Promise<void> {
  expect(unclear).toEqual([]);
  const { wrong, reads } = await new Reads(service, world, random).readAll(isSample ? 5 : 500);
  expect(wrong).toEqual([]);
  expect(reads).toBeGreaterThan(isSample ? 100 : 200);
  expect(await violationsOf(service.service)).toEqual([]);
  const findings: string[] = [];
  let after: RowPosition | null = null;
  do {
    const report = await checkRows(service, { tenant: service.tenant.name, after });
    findings.push(...report.findings.map(describeFinding));
    after = report.next;
  } while (after !== null);
  expect(findings).toEqual([]);
}

test.each([...rows, ...operations])('$name › accepts a body with the required values', async (door) => {
  expect(await send(door, [onlyRequired])).toMatchObject([{ isAccepted: true }]);
});

test.each([...rows, ...operations])('$name › rejects a value beyond its bound, with its pointer', async (door) => {
  for (const place of some(door, 0.05))
    for (const choices of overBounds(place)) {
      const [written] = await send(door, [choices]);
      expect(written, place.pointer).toMatchObject({ isAccepted: false, code: 'VALIDATION_ERROR' });
      expect(written?.pointers.join(' '), place.pointer).toContain(place.pointer);
    }
});

test('values at their bounds are rejected or can be read, whatever operation writes them', async () => {
  let [total, possible] = [0, 0];
  for (const door of [...rows, ...operations]) {
    const results = await send(door, some(door, 0.05).flatMap(atBounds));
    total += results.length;
    possible += results.filter(({ isAccepted }) => isAccepted).length;
  }
  // Rules reject the others.
  expect(possible / total).toBeGreaterThan(0.6);
  // In a sample, the next test reads what both have written.
  if (!isSample) await readAll();
});

const money = ['Invoice', 'Payment', 'WipEntry', 'DraftInvoice', 'TimeEntry', 'ExpenseEntry', 'createQuickPaymentLink'];
const states: Readonly<Record<string, readonly string[]>> = {
  DraftInvoice: ['IN_REVIEW', 'APPROVED'],
  TimeEntry: ['SUBMITTED', 'APPROVED'],
  ExpenseEntry: ['SUBMITTED', 'APPROVED'],
};

/** The last rows of each type, for others to refer to. */
const recent = new Map<string, Written[]>();
const lastOf = (type: string) => {
  const known = recent.get(type)?.slice(-5) ?? [];
  return known[random.below(known.length)];
};

const anyValues: Choices = {
  // A new line has no ID yet, and one of both forms of its taxes.
  includes: (pointer) => !/\/(id|lines\/\d+\/tax(able|RatePercent))$/.test(pointer) && random.chance(0.3),
  items: () => random.between(1, 3),
  value(pointer, schema) {
    const type = /\/invoiceIds?(\/|$)/.test(pointer) && schema.items === undefined ? 'Invoice' : schema['x-references'];
    if (type !== undefined && schema.items === undefined) return random.chance(0.5) ? lastOf(type)?.id : undefined;
    if (schema.enum !== undefined)
      return random.chance(0.3) ? schema.enum[random.below(schema.enum.length)] : undefined;
    if (schema.format === 'decimal') {
      if (random.chance(0.4)) return undefined;
      const usual = ['1', '2', '100', '101', '1.00', '100.00', '24.00'];
      const values = [...decimalsAccepted(schema), ...usual.filter((text) => isAccepted(schema, text))];
      return values[random.below(values.length)];
    }
    const isText = hasType(schema, 'string');
    if (schema.items !== undefined || !random.chance(isText ? 0.05 : 0.3)) return undefined;
    const { at } = extremesOf(schema, world.bodies.next());
    return at[random.below(at.length)];
  },
};

/** Writes a random row or a random change of a recent one. */
async function writeAny(): Promise<void> {
  const doors = [...rows, ...operations].filter(({ name }) => money.includes(name) || random.chance(0.1));
  const door = doors[random.below(doors.length)];
  if (door === undefined) return;
  const row = lastOf(door.name);
  const isRecord = rows.includes(door) && !door.name.endsWith('Entry') && !door.name.endsWith('Code');
  if (isRecord && row?.systemRef !== undefined && random.chance(0.25)) {
    const attributes = world.bodies.make(door.name, { ...door.schema, required: [] }, anyValues);
    const [changed] = await sendRows(service, 'PUT', '/api/v1/records', [
      { type: door.name, systemRef: row.systemRef, attributes },
    ]);
    if (vague.test(changed?.detail ?? ''))
      unclear.push(`${door.name}: ${changed?.detail} ${JSON.stringify(attributes)}`);
    return;
  }
  const [written] = await send(door, [anyValues]);
  if (written?.isAccepted !== true) return;
  recent.set(door.name, [...(recent.get(door.name) ?? []), written]);
  const path = door.name.endsWith('Entry') && door.name !== 'WipEntry' ? '/api/v1/entries' : '/api/v1/records';
  for (const status of states[door.name] ?? []) {
    const [moved] = await sendRows(service, 'POST', path, [
      { type: door.name, systemRef: written.systemRef, attributes: { status } },
    ]);
    if (vague.test(moved?.detail ?? '')) unclear.push(`${door.name} ${status}: ${moved?.detail}`);
  }
}

test('sums and products of random values, many of them at their bounds, are rejected or can be read', async () => {
  accepted.clear();
  for (let count = 0; count < writes; count += 1) await writeAny();

  // Any change of a schema makes other values of the same seed, and a few of them write other types.
  if (isSample) expect(accepted.size).toBeGreaterThanOrEqual(5);
  else expect(money.filter((name) => !accepted.has(name))).toEqual([]);
  await readAll();
});
