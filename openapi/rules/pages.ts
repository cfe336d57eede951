/**
 * `page` counts rows in one interface and pages in the other, and clients walk lists by it. So a list that goes on says which, in
 * `x-paging`; one that is returned whole has no next page to ask for, and is not named a page.
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
        'Say in `x-paging` whether `page` counts rows (offset) or pages (number), or whether there is none (cursor, feed).',
      );
    if (isSaid !== (schema.name?.endsWith('Page') === true))
      report(schema.home, 'End the name of a page in `Page`, and of nothing else.');
    const rows = properties.get('data')?.[0];
    if (isSaid && (rows === undefined || !typesOf(rows).includes('array')))
      report(schema.home, 'Leave out `x-paging`, or return the rows of the page in `data`.');
  }
});
