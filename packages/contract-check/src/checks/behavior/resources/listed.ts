import type { Operation } from '../../../document/operation.ts';
import type { CheckName } from '../../../finding/rules.ts';
import { wordsOf } from '../../../run/names.ts';
import { type FullList, Listing, type Settings } from '../lists/listing.ts';
import { type Difference, differ, valued } from '../observe.ts';
import type { Resource, ResourceHarness } from './resource.ts';

/** States in which lists often leave out a resource, although no parameter says so. */
const oftenHidden = /archiv|delet|remov|cancel|inactiv|disabl|clos|expir|void|trash|draft|hidden/i;

/** How lists show a resource whose state changed: in its new state, and not in the one before. */
export async function listedAfter(
  harness: ResourceHarness,
  by: Operation,
  resource: Resource,
  name: string,
  [before, now]: readonly [string, string],
): Promise<Difference[]> {
  const { list } = harness.resourceType;
  const listing = list && Listing.of(harness.context, list, resource.call.path);
  if (list === undefined || listing === undefined) return [];
  const found: Difference[] = [];
  const read = async (settings: Settings) => {
    const all = await listing.walk([...listing.widest, ...settings]);
    return all && { all, row: all.rows.find((row) => harness.isOf(resource, row)) };
  };
  const differs = (check: CheckName, about: string, texts: ReturnType<typeof valued>, { exchanges }: FullList) =>
    found.push(differ(check, list, `${about} after ${by.id}`, { ...texts, exchanges }));
  const present = valued('rows', `one that is ${now}`, 'none');
  const absent = (state: string) => valued('rows', `none that is ${state}`, 'one');
  const filter = listing.slots.find(({ place, words, shape }) => {
    return place === 'query' && words.join('') === wordsOf(name).join('') && shape.enum?.includes(now) === true;
  });
  if (filter !== undefined) {
    const [own, other] = [await read([[filter, now]]), await read([[filter, before]])];
    if (own?.row === undefined && own?.all.isComplete) differs('list-hides', filter.name, present, own.all);
    if (other?.row !== undefined) differs('list-leaks', filter.name, absent(now), other.all);
  }
  const hiding = listing.slots.find(({ words, shape }) => {
    const [verb = '', ...rest] = words;
    return (
      shape.types.has('boolean') && /^(?:include|with|show|and)$/.test(verb) && rest.join('') === now.toLowerCase()
    );
  });
  const [plain, whole] = [await read([]), hiding && (await read([[hiding, true]]))];
  if (plain?.row !== undefined && plain.row[name] !== undefined && plain.row[name] !== now)
    differs('read-disagrees', name, valued(name, now, plain.row[name]), plain.all);
  if (hiding !== undefined && plain?.row !== undefined) differs('list-leaks', hiding.name, absent(now), plain.all);
  const isHidden = hiding !== undefined || oftenHidden.test(now);
  const expected = isHidden ? whole : plain;
  if (expected !== undefined && expected.row === undefined && expected.all.isComplete)
    differs('list-hides', hiding?.name ?? '', present, expected.all);
  return found;
}
