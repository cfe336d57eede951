import type { components } from '@financial-automation/spec';
import { invalid } from '../contract/problem.ts';
import { Rejection } from '../contract/rejection.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { parseDecimal } from '../platform/decimal.ts';
import type { Where } from './clause.ts';
import { columnNamed, fieldOf } from './related-columns.ts';

type Schemas = components['schemas'];

/** A column to group by, as a whole or in ranges. */
export interface GroupBy<Column extends string = string> {
  readonly column: Column;
  readonly by?: Schemas['CalendarUnit'];
  readonly boundaries?: readonly (string | number)[];
  readonly daysBefore?: string;
}

/** A figure. Every function but COUNT has a column. */
export interface Measure<Column extends string = string> {
  readonly function: 'COUNT' | 'SUM' | 'AVERAGE' | 'MIN' | 'MAX';
  readonly column?: Column;
}

interface GroupOrder<Column extends string = string> {
  readonly measure?: string;
  readonly column?: Column;
  readonly direction: Schemas['OrderDirection'];
}

/** A request for figures over the rows of an entity with these columns, as the contract declares it. */
export interface AggregateRequest<Column extends string = string> {
  readonly where?: Where;
  readonly groupBy?: readonly GroupBy<Column>[];
  readonly measures: Readonly<Record<string, Measure<Column>>>;
  /** Columns of the rows that groups are keyed by. */
  readonly with?: readonly Column[];
  /** Conditions on numbers among the measures. */
  readonly having?: Readonly<Record<string, Where>>;
  readonly orderBy?: readonly GroupOrder<Column>[];
  readonly pageSize?: number;
  readonly cursor?: string;
}

/**
 * Checks what JSON Schema cannot express of a request.
 *
 * @throws Rejection `VALIDATION_ERROR`; `FORBIDDEN` for a column whose values the caller must not see.
 */
export function checkAggregate(
  entity: AnyEntity,
  holds: (roles: readonly string[]) => boolean,
  { groupBy = [], measures, with: related = [], having = {}, orderBy = [] }: AggregateRequest,
): void {
  const grouped = new Set<string>();
  for (const [index, { column, by, boundaries = [] }] of groupBy.entries()) {
    const pointer = `/groupBy/${index}`;
    if (grouped.has(column)) throw invalid(`${pointer}/column`, 'DUPLICATE', 'The column is grouped by twice.');
    grouped.add(column);
    if (by !== undefined && boundaries.length > 0)
      throw invalid(`${pointer}/by`, 'EXCLUSIVE', 'Send either by or boundaries.');
    checkAscending(boundaries, `${pointer}/boundaries`);
    checkVisible(column, `${pointer}/column`);
  }
  for (const [name, { column }] of Object.entries(measures))
    if (column !== undefined) checkVisible(column, `/measures/${name}/column`);
  for (const [index, column] of related.entries()) {
    const by = entity.relations[column.split('.')[0] ?? '']?.by ?? column;
    if (!grouped.has(by))
      throw invalid(`/with/${index}`, 'NOT_GROUPED', `Group by ${by} to read ${column} of its rows.`);
    if (grouped.has(column)) throw invalid(`/with/${index}`, 'DUPLICATE', 'The column is grouped by, too.');
    checkVisible(column, `/with/${index}`);
  }
  for (const name of Object.keys(having)) {
    const measure = Object.hasOwn(measures, name) ? measures[name] : undefined;
    if (measure === undefined) throw invalid(`/having/${name}`, 'UNKNOWN_MEASURE', 'It is not one of the measures.');
    const kind = measure.column === undefined ? 'integer' : fieldOf(entity, measure.column).kind;
    if (kind !== 'integer' && kind !== 'decimal')
      throw invalid(
        `/having/${name}`,
        'NOT_SUPPORTED',
        'Groups are filtered by numbers. This figure is a day or an instant.',
      );
  }
  for (const [index, { measure, column }] of orderBy.entries()) {
    if (measure !== undefined && !Object.hasOwn(measures, measure))
      throw invalid(`/orderBy/${index}/measure`, 'UNKNOWN_MEASURE', 'It is not one of the measures.');
    if (column !== undefined && !grouped.has(column) && !related.includes(column))
      throw invalid(`/orderBy/${index}/column`, 'NOT_GROUPED', 'It is not a column of groupBy or with.');
  }

  function checkVisible(column: string, pointer: string): void {
    const { field, target } = columnNamed(entity, 'e', column);
    const needed = [target?.readRoles ?? [], field.readRoles];
    const roles = needed.find((some) => some.length > 0 && !holds(some));
    if (roles === undefined) return;
    const detail = `Figures of ${column} require the ${roles.join(' or ')} role.`;
    throw new Rejection('FORBIDDEN', detail, { errors: [{ in: 'body', pointer, code: 'FORBIDDEN', detail }] });
  }
}

function checkAscending(boundaries: readonly (string | number)[], pointer: string): void {
  const values = boundaries.map((boundary) => parseDecimal(String(boundary)));
  for (const [index, value] of values.entries()) {
    const before = values[index - 1];
    if (before !== undefined && value.lte(before))
      throw invalid(`${pointer}/${index}`, 'NOT_ASCENDING', 'Each boundary must be greater than the one before it.');
  }
}
