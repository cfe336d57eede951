import { Rejection } from '../../contract/rejection.ts';
import { readAttributes } from '../../entity/attributes.ts';
import type { AnyWritten, Plan } from '../../entity/plan.ts';
import type { AnyInput } from '../../entity/row.ts';
import { isImported, type Machine, statesTo } from '../../entity/state-machine.ts';
import type { RecordItem } from './own-keys.ts';
import type { RecordType } from './record-type.ts';

/** Fields that belong to the last transition, and not to the row that it starts from. */
const ofLastState = /Reason$|^changeDate$|^refundedAmount$/;

/**
 * Writes a row of the history of another system: a new one in the state that it has there, an existing one if it has not got further.
 *
 * @param write writes an item that is no import
 */
export function importRow<Item extends RecordItem>(
  plan: Plan,
  type: RecordType,
  item: Item,
  write: (item: Item) => AnyWritten,
): AnyWritten {
  plan.requires(['IMPORT_W'], 'Importing records', '/source');
  const { entity } = type;
  const { systemRef, attributes = {} } = item;
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
    if (machine === undefined || typeof state !== 'string') return write(item);
    const row = systemRef === undefined ? undefined : plan.untyped.findForUpdate(entity, 'systemRef', systemRef);
    if (row === undefined) return createIn(plan, type, machine, state, item, write);
    const order = entity.fields.get(machine.field)?.schema.enum ?? [];
    const now = String(row[machine.field]);
    if (order.indexOf(state) >= order.indexOf(now)) return write(item);
    const written = write({ ...item, attributes: without(attributes, (name) => name === machine.field) });
    if (written.status === 'UNCHANGED') return written;
    const detail = `The ${type.name} is ${now} meanwhile, and the import has other content. Correct the ${type.name} itself.`;
    throw new Rejection('INVALID_STATE', detail, `/attributes/${machine.field}`);
  }
}

/** Creates a row in an initial state, and brings it to its own by the transitions of a caller. */
function createIn<Item extends RecordItem>(
  plan: Plan,
  { entity }: RecordType,
  machine: Machine,
  state: string,
  item: Item,
  write: (item: Item) => AnyWritten,
): AnyWritten {
  const { origin } = plan;
  const path = statesTo(machine, state, { operation: origin.operation, holds: (roles) => plan.holds(roles) });
  const [first, ...others] = path ?? [];
  if (others.length === 0 || isImported(machine, state)) return write(item);
  const { attributes = {} } = item;
  const initial = { ...without(attributes, (name) => ofLastState.test(name)), [machine.field]: first };
  let written = write({ ...item, attributes: initial });
  const { id } = written.row;
  for (const [index, next] of others.entries()) {
    // A tenant without approval approves by itself.
    if (written.row[machine.field] === next) continue;
    const last = index === others.length - 1 ? without(attributes, (name) => !ofLastState.test(name)) : {};
    written = plan.at('/attributes', () =>
      plan.untyped.update(
        entity,
        id,
        readAttributes(plan, entity, { ...last, [machine.field]: next }, written.row),
        {},
      ),
    );
  }
  return { ...written, status: 'CREATED' };
}

function without(attributes: AnyInput, isLeftOut: (name: string) => boolean): AnyInput {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !isLeftOut(name)));
}
