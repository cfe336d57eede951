/**
 * The columns and sort keys of a search are those of the row, with the operators of its type. Otherwise the reference
 * would show filters that the database does not support, such as `_like` on a date. Every number of the row is a column, and every
 * column that all rows have is a sort key, so that nobody has to look up which are.
 */
import { namedSchemas, type Place, type Report } from './contract.ts';
import { propertiesOf, typesOf } from './schemas.ts';

const filterOfFormat: Record<string, string> = {
  uuid: 'UuidFilter',
  date: 'DateFilter',
  'date-time': 'InstantFilter',
  decimal: 'DecimalFilter',
};
const filterOfType: Record<string, string> = {
  boolean: 'BooleanFilter',
  integer: 'IntegerFilter',
  string: 'TextFilter',
};

const operators = ['_eq', '_neq', '_in', '_nin', '_is_null'];
const ofLists = [...operators, '_contains'];

export const searches = namedSchemas((schemas, report) => {
  for (const [name, schema] of schemas) {
    if (name.endsWith('Filter')) checkFilter(name, schema, report);
    if (!/(Columns|OrderBy)$/.test(name)) continue;
    const common = /^(Entity|Relation)(Columns|OrderBy)$/.test(name) ? schemas.get('EntityBase') : undefined;
    const row = schemas.get(name.replace(/(Columns|OrderBy)$/, '')) ?? common;
    if (row === undefined) continue;
    checkColumns(name, schema, row, report);
    if (row === common) continue;
    if (name.endsWith('OrderBy')) checkCommonKeys(schema, schemas, row, report);
    else if (schemas.has(`${row.name}OrderBy`))
      checkNumbers(schema, schemas.get(`${row.name}Where`) ?? schema, row, report);
  }
});

/** The number of a row's version counts its changes, and is no figure. */
function checkNumbers(columns: Place, where: Place, row: Place, report: Report): void {
  const present = propertiesOf(where);
  for (const [name, [field]] of propertiesOf(row)) {
    if (name === 'version' || field === undefined || present.has(name)) continue;
    if (['DecimalFilter', 'IntegerFilter'].includes(filterFor(field) ?? ''))
      report(columns, `Add ${name} to the columns: searches and aggregates have every number of ${row.name}.`);
  }
}

function checkCommonKeys(keys: Place, schemas: ReadonlyMap<string, Place>, row: Place, report: Report): void {
  const [common, where] = ['EntityBase', `${row.name}Where`].map((name) => schemas.get(name));
  if (common === undefined || where === undefined) return;
  const [fields, present] = [propertiesOf(common), propertiesOf(keys)];
  // Lists and objects have no order.
  const isSingle = (field: Place) => !typesOf(field).some((type) => ['array', 'object'].includes(type));
  for (const column of propertiesOf(where).keys())
    if (fields.get(column)?.every(isSingle) === true && !present.has(column))
      report(keys, `Add ${column} to the sort keys: the search filters by it, and all rows have it.`);
}

function checkFilter(name: string, schema: Place, report: Report): void {
  const present = propertiesOf(schema);
  for (const operator of name.endsWith('ListFilter') ? ofLists : operators) {
    if (!present.has(operator)) report(schema, `Add the operator ${operator}: every filter of its kind has it.`);
  }
  if (schema.get('minProperties')?.value !== 1)
    report(schema, 'Set `minProperties: 1`: a filter without an operator is no condition.');
}

function checkColumns(name: string, schema: Place, row: Place, report: Report): void {
  const fields = propertiesOf(row);
  for (const [column, [filter]] of propertiesOf(schema)) {
    if (filter === undefined) continue;
    const field = fields.get(column)?.[0];
    if (field === undefined) report(filter, `Remove ${column}: it is not a field of ${row.name}.`);
    else if (name.endsWith('Columns') && filter.name !== filterFor(field))
      report(filter, `Filter ${column} by ${filterFor(field)}, as its type requires.`);
  }
}

/** The name of the filter that fits a field, by the field's format, enum or type. */
function filterFor(field: Place): string | undefined {
  const one = field.list('anyOf').find((alternative) => !typesOf(alternative).includes('null')) ?? field;
  if (typesOf(one).includes('array')) {
    const element = one.get('items');
    return element === undefined ? undefined : listFilter(element);
  }
  if (one.get('enum') !== undefined) return `${one.name}Filter`;
  if (typesOf(one).includes('object')) return `${one.name}Where`;
  const format = filterOfFormat[one.text('format') ?? ''];
  return format ?? filterOfType[typesOf(one).find((type) => type !== 'null') ?? ''];
}

function listFilter(element: Place): string {
  // The elements of a list of objects are related rows.
  if (typesOf(element).includes('object')) return `${element.name}RelationWhere`;
  return element.get('enum') === undefined ? 'UuidListFilter' : `${element.name}ListFilter`;
}
