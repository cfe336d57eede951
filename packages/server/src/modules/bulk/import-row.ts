import { schemaOf } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { rolesOfValue } from '../../contract/roles.ts';
import { readAttributes } from '../../entity/attributes.ts';
import type { AnyWritten, Plan } from '../../entity/plan.ts';
import type { AnyInput } from '../../entity/row.ts';
import { checkWriteRoles } from '../../entity/row-checks.ts';
import { callerMover, isImported, type Machine, statesTo } from '../../entity/state-machine.ts';
import type { RecordItem } from './own-keys.ts';
import type { RecordType } from './record-type.ts';

const importRoles = rolesOfValue(schemaOf('RecordSource'), 'IMPORT');

/**
 * Writes a row of the history of another system: a new one in the state that it has there, an existing one if it has not got further.
 *
 * @param isRepeated whether the last import of the row had the same content, which changes nothing then
 * @param write writes an item that is no import
 */
export function importRow<Item extends RecordItem>(
  plan: Plan,
  type: RecordType,
  item: Item,
  isRepeated: boolean,
  write: (item: Item) => AnyWritten,
): AnyWritten {
  plan.requires(importRoles, 'Importing records', '/source');
  const { entity } = type;
  const { systemRef, attributes = {} } = item;
  const last = isRepeated && systemRef !== undefined && plan.untyped.find(entity, 'systemRef', systemRef);
  if (last) {
    // Otherwise, who must not write a value finds it by sending guesses.
    plan.at('/attributes', () =>
      checkWriteRoles(entity, attributes, last, (roles, action, pointer) => plan.requires(roles, action, pointer)),
    );
    return { status: 'UNCHANGED', row: last };
  }
  return plan.importing(() => {
    const written = writeInState();
    if (item.instants === undefined) return written;
    const { status, row } = plan.at('/instants', () =>
      plan.untyped.setInstants(entity, written.row.id, item.instants ?? {}),
    );
    return { status: written.status === 'UNCHANGED' ? status : written.status, row };
  });

  function writeInState(): AnyWritten {
    const { machine } = entity;
    const state = machine === undefined ? undefined : attributes[machine.field];
    if (machine === undefined) return write(item);
    const row = systemRef === undefined ? undefined : plan.untyped.findForUpdate(entity, 'systemRef', systemRef);
    if (row === undefined) return writeBySteps(plan, type, machine, item, write);
    if (typeof state !== 'string') return write(item);
    const order = entity.fields.get(machine.field)?.schema.enum ?? [];
    const now = String(row[machine.field]);
    if (order.indexOf(state) >= order.indexOf(now)) return writeBySteps(plan, type, machine, item, write, now);
    const written = write({ ...item, attributes: without(attributes, (name) => name === machine.field) });
    if (written.status === 'UNCHANGED') return written;
    const detail = `The ${type.name} is ${now} meanwhile, and the import has other content. Correct the ${type.name} itself.`;
    throw new Rejection('INVALID_STATE', detail, `/attributes/${machine.field}`);
  }
}

/**
 * Brings a row to its state by the transitions of a caller: a new one from an initial state.
 *
 * @param now the state of an existing row
 */
function writeBySteps<Item extends RecordItem>(
  plan: Plan,
  { entity }: RecordType,
  machine: Machine,
  item: Item,
  write: (item: Item) => AnyWritten,
  now?: string,
): AnyWritten {
  const { attributes = {} } = item;
  const isNew = now === undefined;
  const state = attributes[machine.field];
  const starts = isNew ? machine.initial : [now];
  const path = typeof state === 'string' ? statesTo(machine, starts, state, callerMover(plan)) : undefined;
  const order = (one: string) => (entity.fields.get(machine.field)?.schema.enum ?? []).indexOf(one);
  // No step is taken to be undone: an invoice becomes PARTIALLY_PAID by a payment, and not by a write-off that is taken back.
  const isDirect = path?.every((one, index) => order(one) >= order(path[index - 1] ?? one)) === true;
  const [first, ...others] = isDirect ? (path ?? []) : [];
  const isOfChange = (name: string) => entity.fields.get(name)?.written?.['x-of-change'] === true;
  // What is written off of a row without another state is a second step, too.
  const isWrittenOff = isNew && others.length === 0 && Number(attributes.writeOffAmount ?? 0) !== 0;
  if ((others.length <= (isNew ? 0 : 1) && !isWrittenOff) || isImported(machine, state)) return write(item);
  const start = without(attributes, (name) => isOfChange(name) || (name === machine.field && !isWrittenOff));
  const initial = isNew && others.length > 0 ? { ...start, [machine.field]: first } : start;
  let written = write({ ...item, attributes: initial });
  const { id } = written.row;
  const end = without(attributes, (name) => !isOfChange(name));
  const steps = others.map((next, index) => ({ ...(index === others.length - 1 && end), [machine.field]: next }));
  for (const step of isWrittenOff ? [end] : steps) {
    // A tenant without approval approves by itself.
    if (step !== end && written.row[machine.field] === step[machine.field]) continue;
    written = plan.at('/attributes', () =>
      plan.untyped.update(entity, id, readAttributes(plan, entity, step, written.row), {}),
    );
  }
  return { ...written, status: isNew ? 'CREATED' : 'UPDATED' };
}

function without(attributes: AnyInput, isLeftOut: (name: string) => boolean): AnyInput {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !isLeftOut(name)));
}
