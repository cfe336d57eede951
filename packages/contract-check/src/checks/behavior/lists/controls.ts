import { keyOfName } from '../../../run/words.ts';
import { isFlag, isInteger, isText, type Slot } from './slot.ts';

/** The controls of a list, inferred from the names and types of its slots. */
export interface Controls {
  readonly size: Slot | undefined;
  readonly position: Slot | undefined;
  readonly cursor: Slot | undefined;
  /** A flag that requests the total. */
  readonly total: Slot | undefined;
  readonly order: Slot | undefined;
  readonly direction: Slot | undefined;
  readonly search: Slot | undefined;
  /** Filters, and slots of unknown meaning. */
  readonly others: readonly Slot[];
}

const sizes =
  /^(?:page)?(?:size|limit|length|count)$|^(?:per|itemsper|resultsper|rowsper|entriesper|recordsper)page$|^(?:max|limit|top|take|first|rows|num|amount|batchsize|maxresults|maxitems|maxrows|maxpagesize|numresults|maxcount|pagemax)$/;
const positions =
  /^(?:page|pagenumber|pagenum|pageno|pageindex|currentpage|p|offset|skip|start|startindex|startat|pageoffset|from|rowoffset|firstresult)$/;
const cursors =
  /^(?:page)?(?:cursor|token|after|marker)$|^(?:pagetoken|nexttoken|nextpagetoken|nextcursor|continuationtoken|continuation|startingafter|startafter|scrollid|bookmark|exclusivestartkey)$/;
const totals =
  /^(?:include|with|show|return|get)?(?:total|totals|count|totalcount|totalrows|counttotal)$|^counttotal$|^needtotal$/;
const orders = /^(?:order|sort|orderby|sortby|ordering|sorting|sortfield|sortkey|orderfield|sorts|orders|sortcolumn)$/;
const directions =
  /^(?:direction|dir|sortorder|sortdirection|sortdir|orderdirection|orderdir|order|sorttype|ordertype|sort)$/;
const searches = /^(?:q|query|search|searchterm|searchtext|searchquery|text|keyword|keywords|term|freetext|fulltext)$/;
const representation =
  /^(?:fields|select|include|includes|expand|embed|populate|exclude|attributes|columns|view|format|locale|lang|language|pretty|callback|apikey|key|accesstoken|version|tenant)$/;

export function controlsOf(slots: readonly Slot[]): Controls {
  const size = slots.find((slot) => isInteger(slot) && sizes.test(nameOf(slot)));
  const position = slots.find((slot) => isInteger(slot) && slot !== size && positions.test(nameOf(slot)));
  const cursor = slots.find(
    (slot) => isText(slot) && !isDated(slot) && slot.shape.enum === undefined && cursors.test(nameOf(slot)),
  );
  const total = slots.find((slot) => isFlag(slot) && totals.test(nameOf(slot)));
  const direction = slots.find((slot) => directions.test(nameOf(slot)) && isDirection(slot));
  const order = slots.find(
    (slot) =>
      slot !== direction &&
      slot.vocabulary.order !== false &&
      (slot.vocabulary.order !== undefined || orders.test(nameOf(slot))),
  );
  const search = slots.find(
    (slot) =>
      isText(slot) &&
      slot.shape.enum === undefined &&
      slot.vocabulary.filter === undefined &&
      searches.test(nameOf(slot)),
  );
  const assigned = new Set([size, position, cursor, total, order, direction, search]);
  const others = slots.filter(
    (slot) =>
      !assigned.has(slot) && !representation.test(nameOf(slot)) && !isWithin(slot, order) && !isWithin(slot, direction),
  );
  return { size, position, cursor, total, order, direction, search, others };
}

/** The name without an enclosing object such as `pagination` in `pagination.limit`. */
function nameOf(slot: Slot): string {
  const [first = ''] = slot.words;
  const isGrouped = slot.words.length > 1 && /^(?:paging|pagination|options|params|query)$/.test(first);
  return keyOfName(isGrouped ? slot.words.slice(1) : slot.words);
}

function isWithin(slot: Slot, outer: Slot | undefined): boolean {
  return (
    outer !== undefined &&
    slot.place === outer.place &&
    slot.path.length > outer.path.length &&
    outer.path.every((segment, index) => slot.path[index] === segment)
  );
}

function isDated({ shape }: Slot): boolean {
  return shape.format === 'date' || shape.format === 'date-time';
}

function isDirection({ shape }: Slot): boolean {
  const words = (shape.enum ?? []).filter((one) => one !== null);
  return words.length > 1 && words.every((one) => directionOf(one) !== undefined);
}

export interface Direction {
  readonly isDescending: boolean;
  /** Where rows without a value are sorted; undefined if unspecified. */
  readonly nulls: 'first' | 'last' | undefined;
}

/** Parses a word such as `desc` or `asc_nulls_first`. */
export function directionOf(word: unknown): Direction | undefined {
  if (word === 1 || word === -1) return { isDescending: word === -1, nulls: undefined };
  if (typeof word !== 'string') return undefined;
  const match = /^(asc|desc)(?:ending)?(?:nulls(first|last))?$/.exec(keyOfName(word));
  if (match === null) return undefined;
  const nulls = match[2] === 'first' || match[2] === 'last' ? match[2] : undefined;
  return { isDescending: match[1] === 'desc', nulls };
}
