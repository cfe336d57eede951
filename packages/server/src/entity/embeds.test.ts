/**
 * Tests every declared embed: a change of the embedded row is visible, and creates a new version of the embedding row or
 * not, as declared.
 */
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { recordsOf } from '../../test/modules/records.ts';
import { firmOf } from '../../test/modules/staff.ts';
import { sharedService } from '../../test/service.ts';
import type { Field } from '../contract/fields.ts';
import { asOperator } from '../operator/tenants.ts';
import { membersShown } from './embed.ts';
import type { AnyEntity, Embed, OnChange } from './model.ts';
import { allEntities, entityNamed } from './registry.ts';
import { readStored } from './select.ts';

const service = await sharedService();
const { make } = recordsOf(service);
const firm = firmOf(service);

/** Rows that embed each other, by their types. */
type World = Readonly<Record<string, string>>;

/** For each type that embeds others, creates a row and the rows that it embeds. */
const worlds: Readonly<Record<string, () => Promise<World>>> = {
  async ClientGroup() {
    const group = await make('ClientGroup', { name: `Group ${crypto.randomUUID()}` });
    return { ClientGroup: group.id, Client: await firm.client({ clientGroupId: group.id }) };
  },
  async Contact() {
    const contact = await make('Contact', { lastName: 'Calder' });
    const clientId = await firm.client();
    const link = await make('ContactClient', { contactId: contact.id, clientId, roles: ['BILLING'], isPrimary: true });
    return { Contact: contact.id, Client: clientId, ContactClient: link.id };
  },
  async Invoice() {
    const clientId = await firm.client();
    return { Invoice: (await newInvoice(clientId)).id, Client: clientId };
  },
  async QuickPaymentLink() {
    const clientId = await firm.client();
    const { clientRef } = await rowOf(entityNamed('Client'), clientId);
    const body = { clientRef, invoiceIds: [(await newInvoice(clientId)).id] };
    const link = await service.call<{ id: string }>('POST', '/api/v1/clients/v1/link/payment', body);
    return { QuickPaymentLink: link.body.id, Client: clientId };
  },
  async Task() {
    const [jobId, taskTypeId, staff] = [await firm.job(), await firm.taskType(), await firm.person()];
    const task = await firm.task({ jobId, taskTypeId, assigneeId: staff.id });
    return { Task: task, Job: jobId, TaskType: taskTypeId, Staff: staff.id };
  },
  async Project() {
    const clientId = await firm.client();
    const jobId = await firm.job({ clientId });
    const staff = await firm.person();
    const assignment = { staffId: staff.id, jobId, role: 'PREPARER' as const, startDate: '2026-01-05' };
    await service.handle('assignStaff', { body: { staffJobAssignments: [assignment] } });
    const [{ id } = { id: '' }] = await firm.rows<{ id: string }>(
      sql`select id from staff_job_assignment where job_id = ${jobId}`,
    );
    return { Project: jobId, Client: clientId, StaffJobAssignment: id };
  },
};

const workCode = { type: 'WorkCode', systemRef: 'TAX', attributes: { code: 'TAX', name: 'Tax', isBillable: true } };
await service.call('POST', '/api/v1/codes', { records: [workCode] });

/** Changes of fields that are calculated from others or have rules. */
const changesOf: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'Staff.displayName': { lastName: 'Lovelace' },
  'TaskType.defaultWorkCode': { defaultWorkCode: 'TAX' },
  'ContactClient.roles': { roles: ['OTHER'] },
};
/** Fields that change when the row is removed. */
const removed = new Set(['active', 'deactivatedAt']);

interface Shown {
  readonly embedder: AnyEntity;
  readonly field: Field;
  /** The entity whose row is changed, and its changed field. */
  readonly of: AnyEntity;
  readonly member: Field;
  readonly onChange: OnChange;
}

// Fields that every change sets, and those that never change.
const ofEveryRow = new Set(['id', 'systemRef', 'sysRefs', 'createdAt', 'updatedAt', 'version']);

const shown = [...allEntities()].flatMap((embedder) =>
  [...embedder.embeds].flatMap(([field, embed]) =>
    shownBy(embed, field, { embedder, field, onChange: embed.onChange }),
  ),
);

function shownBy(embed: Embed, field: Field, outer: Pick<Shown, 'embedder' | 'field' | 'onChange'>): Shown[] {
  const of = embed.to();
  if (embed.shape === 'count') {
    const active = of.shown.find(({ name }) => name === 'active');
    return active === undefined || !embed.activeOnly ? [] : [{ ...outer, of, member: active }];
  }
  return membersShown(embed, field)
    .filter(({ name }) => !ofEveryRow.has(name) && name !== embed.by)
    .flatMap(({ name, member, embed: nested }) => {
      if (nested !== undefined) {
        return shownBy(nested, member, { ...outer, onChange: outer.onChange === 'label' ? 'label' : nested.onChange });
      }
      const own = of.fields.get(name);
      return own === undefined || own.references !== undefined ? [] : [{ ...outer, of, member: own }];
    });
}

test('there are embeds of both kinds to test', () => {
  expect(new Set(shown.map(({ onChange }) => onChange))).toEqual(new Set(['version', 'label']));
  expect(new Set(shown.map(({ embedder }) => embedder.type))).toEqual(new Set(Object.keys(worlds)));
});

test.each(
  shown.map((one) => [one.embedder.type, one.field.name, one.onChange, one.of.type, one.member.name, one] as const),
)('%s.%s: a %s where %s.%s changes', async (_embedder, _field, _onChange, _of, _member, one) => {
  const world = await worlds[one.embedder.type]?.();
  const [id, changedId] = [world?.[one.embedder.type] ?? '', world?.[one.of.type] ?? ''];
  const before = await rowOf(one.embedder, id);
  const old = (await rowOf(one.of, changedId))[one.member.name];
  const value = another(one.member, old);
  const changes = changesOf[`${one.of.type}.${one.member.name}`] ?? { [one.member.name]: value };
  const [input, system] = one.member.written === undefined ? [{}, changes] : [changes, {}];
  await asOperator(service.service, service.tenant, 'test', (unit) =>
    unit.plan((plan) =>
      removed.has(one.member.name)
        ? plan.untyped.remove(one.of, changedId)
        : plan.untyped.update(one.of, changedId, input, { system }),
    ),
  );
  const after = await rowOf(one.embedder, id);
  expect(after[one.field.name]).not.toEqual(before[one.field.name]);
  const versions = one.onChange === 'version' ? 1 : 0;
  expect(Number(after.version) - Number(before.version)).toBe(versions);
  const { events } = await firm.trace(id);
  expect(events.filter(({ sequence }) => sequence > Number(before.version))).toHaveLength(versions);
});

/** Returns another valid value of the field. */
function another({ kind, schema }: Field, old: unknown): unknown {
  const values = (schema.enum ?? schema.items?.enum ?? []).filter((value): value is string => value !== null);
  const other = values.find((value) => (Array.isArray(old) ? !old.includes(value) : value !== old));
  switch (kind) {
    case 'boolean':
      return old !== true;
    case 'decimal':
      return old === '12.50' ? '13.50' : '12.50';
    case 'date':
      return old === '2026-02-01' ? '2026-03-01' : '2026-02-01';
    case 'instant':
      return '2026-02-01T00:00:00.000Z';
    case 'list':
      return [other];
    default:
      return other ?? `${old ?? ''}2`;
  }
}

async function rowOf(entity: AnyEntity, id: string): Promise<Readonly<Record<string, unknown>>> {
  const [row] = await service.store.read(service.tenant.id, (session) =>
    readStored(session, service.tenant.id, entity, [id]),
  );
  if (row === undefined) throw new Error(`${entity.type} ${id} not found.`);
  return { ...row };
}

function newInvoice(clientId: string) {
  const line = { lineType: 'FIXED_FEE', description: 'Books', quantity: '1', unitAmount: '500.00', taxable: false };
  return make('Invoice', {
    pmsRef: crypto.randomUUID(),
    clientId,
    invoiceDate: '2026-01-01',
    dueDate: '2026-01-31',
    lines: [line],
  });
}
