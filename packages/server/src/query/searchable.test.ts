import { describe, expect, test } from 'vitest';
import { isNightly } from '../../test/nightly.ts';
import { sharedService } from '../../test/service.ts';
import { allOperations, contract, type Schema } from '../contract/contract.ts';
import { propertiesOf, resolved } from '../contract/fields.ts';

const { call } = await sharedService();

/** An operand of the right type for the operator, whatever the column contains. */
function operandOf(operandSchema: Schema): unknown {
  const schema = resolved(operandSchema);
  if (schema.type === 'array') return [operandOf(schema.items ?? {})];
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === 'boolean') return true;
  if (schema.type === 'object') return { region: 'north' };
  if (schema.type === 'integer') return 1;
  const values: Readonly<Record<string, string>> = {
    uuid: '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101',
    decimal: '1.00',
    date: '2026-01-31',
    'date-time': '2026-01-31T12:00:00+01:00',
  };
  return values[schema.format ?? ''] ?? 'x';
}

/** Every nth column, and every nth one of a related record, each with all of its operators. The searches have columns of each kind. */
const [nthOfColumns, nthOfRelations] = isNightly ? [1, 1] : [2, 20];

/** The columns and operators that a where clause can contain, each in a clause of its own: a sample, and all in the nightly run. */
function* clausesOf(schema: Schema, nth = nthOfColumns): Generator<object> {
  const columns = Object.entries(propertiesOf(schema)).filter(([name]) => !name.startsWith('_'));
  for (const [name, operandSchema] of columns.filter((_, index) => index % nth === 0)) {
    const inner = propertiesOf(resolved(operandSchema));
    const operators = Object.entries(inner).filter(
      ([key]) => key.startsWith('_') && !['_and', '_or', '_not'].includes(key),
    );
    for (const [operator, operand] of operators) yield { [name]: { [operator]: operandOf(operand) } };
    if (operators.length === 0)
      for (const clause of clausesOf(resolved(operandSchema), nthOfRelations)) yield { [name]: clause };
  }
}

interface WithBody {
  readonly requestBody: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
}

const searches = allOperations
  .filter((operation) => operation.id.startsWith('search'))
  .map((operation) => {
    const described = contract.paths[operation.path] as { readonly post: WithBody };
    return [
      operation.id,
      operation,
      propertiesOf(described.post.requestBody.content['application/json'].schema),
    ] as const;
  });

describe.each(searches)('%s', (_id, operation, properties) => {
  test('supports every filter that its contract declares', async () => {
    const clauses = [...clausesOf(resolved(properties.where ?? {}))];
    expect(clauses.length).toBeGreaterThan(10);
    const rejected = [];
    // Several run concurrently: each is still compiled and run.
    for (let start = 0; start < clauses.length; start += 20) {
      const some = clauses.slice(start, start + 20);
      const { status } = await call('POST', operation.path, { where: { _or: some } });
      if (status === 200) continue;
      for (const where of some) {
        const alone = await call('POST', operation.path, { where });
        if (alone.status !== 200) rejected.push({ where, status: alone.status });
      }
    }
    expect(rejected).toEqual([]);
  });

  test('supports every order that its contract declares', async () => {
    const keys = Object.keys(propertiesOf(resolved(resolved(properties.orderBy ?? {}).items ?? {})));
    expect(keys.length).toBeGreaterThan(2);
    const statusOf = async (some: readonly string[]) =>
      (await call('POST', operation.path, { orderBy: some.map((key) => ({ [key]: 'desc_nulls_last' })) })).status;
    const rejected = [];
    for (let start = 0; start < keys.length; start += 5) {
      const some = keys.slice(start, start + 5);
      if ((await statusOf(some)) === 200) continue;
      for (const key of some) rejected.push({ key, status: await statusOf([key]) });
    }
    expect(rejected).toEqual([]);
  });
});
