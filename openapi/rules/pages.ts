/**
 * `page` counts rows in one interface and pages in the other, and clients page through lists by it. So a list with several pages declares
 * which, in `x-paging`; a list that is returned whole has no next page, and its name does not end in `Page`.
 */
import { eachOperation } from './contract.ts';
import { contentOf, partsOf, propertiesOf, typesOf } from './schemas.ts';

export const pages = eachOperation(({ success }, report) => {
  for (const schema of success === undefined ? [] : contentOf(success)) {
    const properties = propertiesOf(schema);
    const hasMore = properties.get('hasMore');
    const goesOn = hasMore?.every((place) => place.get('const') === undefined) === true;
    const isSaid = partsOf(schema).some((part) => part.get('x-paging') !== undefined);
    if (goesOn && !isSaid)
      report(
        schema.home,
        'Declare in `x-paging` whether `page` counts rows (offset) or pages (number), or whether there is none (cursor, feed).',
      );
    if (isSaid !== (schema.name?.endsWith('Page') === true))
      report(schema.home, 'End the names of pages, and only these, in `Page`.');
    const rows = properties.get('data')?.[0];
    if (isSaid && (rows === undefined || !typesOf(rows).includes('array')))
      report(schema.home, 'Remove `x-paging`, or return the rows of the page in `data`.');
  }
});
