import { Rejection } from '../../contract/rejection.ts';
import { readAttributes } from '../../entity/attributes.ts';
import type { Context } from '../../entity/context.ts';
import type { AnyWritten, Plan } from '../../entity/plan.ts';
import type { PageRequest } from '../../query/page.ts';
import {
  type ItemSchema,
  type RecordItem,
  type RecordType,
  readRecords,
  recordSchemaOf,
  summaryOf,
  type TypeExtension,
  typeNamed,
  typesWith,
  wholeList,
  withOwnKeys,
  writeRecords,
} from '../bulk/index.ts';

/** A code or an entry of a request. */
interface RowItem extends RecordItem {
  readonly systemRef: string;
  /** False deactivates the row, true activates it; otherwise it remains unchanged. */
  readonly active?: boolean;
}

interface OfType {
  readonly path: { readonly type: string };
}

/** The operations of codes, and those of entries: the contract says which types have the extension. */
function operationsOf(extension: TypeExtension, schema: ItemSchema) {
  return {
    listTypes: async () => ({
      status: 200 as const,
      body: wholeList([...typesWith(extension).values()].map(summaryOf)),
    }),
    getSchema: async (_context: Context, { path }: OfType) => ({
      status: 200 as const,
      body: recordSchemaOf(typeNamed(extension, path.type)),
    }),
    /** Returns the rows of a type, active or not, by page number. */
    lookup: async (context: Context, { path, body }: OfType & { readonly body: PageRequest }) => {
      const type = typeNamed(extension, path.type);
      return {
        status: 200 as const,
        body: await context.read((session) => readRecords(session, context, type, body)),
      };
    },
    /** Creates or updates rows in their order. One that fails changes nothing and does not affect others. */
    upsert: (context: Context, { body }: { readonly body: { readonly records: readonly RowItem[] } }) =>
      writeRecords(
        context,
        { schema, operation: 'UPSERT', findTypes: async () => typesWith(extension), write: writeRow },
        body.records,
      ),
  };
}

export const codes = operationsOf('x-code-type', 'CodeUpsertRecord');
export const entries = operationsOf('x-entry-type', 'EntryUpsertRecord');

function writeRow(
  plan: Plan,
  { entity, name }: RecordType,
  item: RecordItem & { readonly active?: boolean },
): AnyWritten {
  const { systemRef = '', attributes = {}, active } = item;
  const row = plan.untyped.findForUpdate(entity, 'systemRef', systemRef);
  const own = withOwnKeys(plan, row, systemRef, item);
  if (row === undefined) {
    if (active === false)
      throw new Rejection('RECORD_NOT_FOUND', `No ${name} with this systemRef exists to deactivate.`, '/systemRef');
    return plan.at('/attributes', () =>
      plan.untyped.create(entity, readAttributes(plan, entity, attributes, undefined), { systemRef, system: own }),
    );
  }
  const system = active === true ? { active, ...own } : own;
  const written = plan.at('/attributes', () =>
    plan.untyped.update(entity, row.id, readAttributes(plan, entity, attributes, row), { system }),
  );
  return active === false && row.active ? plan.untyped.remove(entity, row.id) : written;
}
