/**
 * Filtering or sorting by a value reveals it: ten searches by `billingRate` find every rate. So a condition on a value requires the role that
 * reads it, if it is a value of a record or an entry: the service checks these. No other where clause, and no sort key, names a
 * property that some readers must not see. A condition on related rows requires the role that reads them.
 */
import { namedSchemas, type Place } from './contract.ts';
import { partsOf, propertiesOf } from './schemas.ts';

/** The schemas of conditions and sort keys, by the name of the row that they are about. */
const search = /(Columns|OrderBy|RelationWhere|Where)$/;
const related = /RelationWhere$/;

export const restrictedSearches = namedSchemas((schemas, report) => {
  for (const [name, schema] of schemas) {
    const row = search.test(name) ? schemas.get(name.replace(search, '')) : undefined;
    if (row === undefined || (isChecked(row) && !name.endsWith('OrderBy'))) continue;
    const fields = propertiesOf(row);
    for (const [column, places] of propertiesOf(schema)) {
      const isRestricted = fields.get(column)?.some((field) => field.get('x-read-roles') !== undefined);
      if (isRestricted && !related.test(places[0]?.name ?? ''))
        report(places[0] ?? schema, `Remove ${column}: a search by it would reveal its values to every caller.`);
    }
  }
});

function isChecked(row: Place): boolean {
  return partsOf(row).some((part) => (part.get('x-record') ?? part.get('x-entry-type')) !== undefined);
}
