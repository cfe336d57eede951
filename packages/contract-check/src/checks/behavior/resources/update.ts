import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject, withoutMember } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { View } from '../../../schema/view.ts';
import { type BehaviorCheck, type Difference, differ, ifSeen, need, text, valued } from '../observe.ts';
import { changesIn, changesOf, isWritable, wholeOf, writableNames } from './bodies.ts';
import { isNothing, isRejection, isSame, isScalar, resourceIn } from './compare.ts';
import { notKept, once } from './effects.ts';
import type { Created, ResourceHarness } from './harness.ts';
import { keepsTheRest } from './resource-types.ts';

export interface Updating {
  readonly harness: ResourceHarness;
  readonly update: Operation;
}

type UpdateCheck = BehaviorCheck<Updating>;

const bodyOf = ({ harness, update }: Updating) => View.ofRequest(harness.document, update);
const hasBody = (updating: Updating) => !bodyOf(updating).isEmpty;

export const changed: UpdateCheck = {
  name: 'change',
  describe: 'An update is stored and returned, and changes only what was sent.',
  applies: hasBody,
  async run({ harness, update }, label) {
    const created = await harness.createAndRead(label);
    const other = await ifSeen(() => harness.createAndRead(`${label} other`));
    const started = performance.now();
    const differences: Difference[] = [];
    let before = created;
    for (const body of changesOf(harness, update, created, label)) {
      if (harness.session.isOver) break;
      const response = await harness.change(update, created.resource, body);
      if (!isSuccess(response) || response.response.status === 202) continue;
      const shown = await harness.shown(created.resource);
      if (shown === undefined) continue;
      const after = { ...before, ...shown };
      differences.push(...compared({ harness, update }, body, before, after, response));
      before = after;
    }
    if (before === created) return undefined;
    return once([
      ...differences,
      ...(await unmoved(harness, update, created, before, started)),
      ...(await untouched(harness, update, other, before.exchange)),
    ]);
  },
};

function compared(updating: Updating, body: JsonObject, before: Created, after: Created, by: Exchange): Difference[] {
  const { harness, update } = updating;
  const { document, resourceType } = harness;
  const exchanges = [by, after.exchange];
  const view = bodyOf(updating);
  const sent = { value: changesIn(body, before.row), view };
  const isReturned = isObject(by.response.json?.value);
  const returned = isReturned ? View.ofResponse(document, update, by.response.status) : View.of(document, undefined);
  return [
    ...notKept(
      'update-lost',
      update,
      sent,
      { row: after.row, view: View.ofResponse(document, resourceType.read) },
      exchanges,
    ),
    ...notKept('update-echo', update, sent, { row: resourceIn(by), view: returned, isPartial: true }, exchanges),
    ...othersIn(updating, body, before, after).map((name) => {
      const facts = { ...valued(name, before.row[name], after.row[name]), node: view.member(name).node, exchanges };
      return differ('update-others', update, name, facts);
    }),
  ];
}

/** Properties that were not sent but changed, although only this update can have changed them. */
function othersIn({ harness, update }: Updating, body: JsonObject, before: Created, after: Created): string[] {
  const { document, resourceType } = harness;
  const writable = writableNames(View.ofRequest(document, update));
  const created = View.ofRequest(document, resourceType.create);
  return Object.keys(before.row).filter((name) => {
    const value = before.row[name];
    // A PUT may clear properties that it omits.
    if (name in body || isNothing(value) || (!keepsTheRest(document, update) && writable.includes(name))) return false;
    const isFixed = /^(?:id|uuid|created_?at|created|created_?on)$/i.test(name);
    const wasSet = name in before.resource.sent && isWritable(created, name);
    return (isFixed || wasSet) && JSON.stringify(after.row[name]) !== JSON.stringify(value);
  });
}

/** Reports a version or modification time that an update does not change. */
async function unmoved(
  harness: ResourceHarness,
  update: Operation,
  first: Created,
  last: Created,
  started: number,
): Promise<Difference[]> {
  const written = View.ofRequest(harness.document, update).names;
  const names = Object.keys(first.row).filter((name) => !written.includes(name));
  const version = names.find((name) => /^_?(?:version|revision|rev)$/i.test(name) && Number.isInteger(first.row[name]));
  const moment = names.find(
    (name) =>
      /^(?:updated|modified|lastModified|last_modified|lastUpdated)[-_]?(?:at|on|date|time)?$/i.test(name) &&
      typeof first.row[name] === 'string',
  );
  const differs = (name: string, { row, exchange }: Pick<Created, 'row' | 'exchange'>) => {
    const facts = { actual: `${name}: ${text(row[name])}`, exchanges: [first.exchange, exchange] };
    return differ('update-timestamp', update, name, facts);
  };
  const found = version !== undefined && first.row[version] === last.row[version] ? [differs(version, last)] : [];
  if (moment === undefined || first.row[moment] !== last.row[moment]) return found;
  // With a resolution of one second, the time may still be the same.
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1100 - (performance.now() - started))));
  const [body] = changesOf(harness, update, last, `${text(first.resource.id)} later`);
  const response = body && (await harness.change(update, first.resource, body));
  const later = response && isSuccess(response) ? await harness.shown(first.resource) : undefined;
  return later?.row[moment] === first.row[moment] && later !== undefined ? [...found, differs(moment, later)] : found;
}

/** Another resource must be unaffected. */
export async function untouched(
  harness: ResourceHarness,
  operation: Operation,
  other: Created | undefined,
  by: Exchange,
): Promise<Difference[]> {
  const now = other && (await harness.read(other.resource));
  if (other === undefined || now === undefined) return [];
  const row = isSuccess(now) ? resourceIn(now) : undefined;
  const names = Object.keys(other.resource.sent).filter(
    (name) => typeof other.row[name] === 'string' && !isSame(other.row[name], row?.[name], { name }),
  );
  if (row !== undefined && names.length === 0) return [];
  const changes = names.map((name) => `${name}: ${text(row?.[name])}`).join(', ');
  const actual = row === undefined ? `${now.response.status}` : changes;
  return [differ('other-changed', operation, '', { actual, exchanges: [other.exchange, by, now] })];
}

export const replaced: UpdateCheck = {
  name: 'replace',
  describe: 'PUT clears omitted properties (RFC 9110, 9.3.4).',
  applies: (updating) =>
    updating.update.method === 'PUT' && hasBody(updating) && !keepsTheRest(updating.harness.document, updating.update),
  async run({ harness, update }, label) {
    const view = bodyOf({ harness, update });
    const created = await harness.createAndRead(label);
    const whole = wholeOf(harness, update, created);
    const optional = writableNames(view).filter((name) => {
      const value = whole[name];
      const isShown = !isNothing(value) && isScalar(value) && isSame(value, created.row[name], { name });
      return isShown && harness.accepts(update, withoutMember(whole, name));
    });
    const least = Object.fromEntries(Object.entries(whole).filter(([name]) => !optional.includes(name)));
    if (optional.length === 0 || !harness.accepts(update, least)) return undefined;
    const response = await harness.change(update, created.resource, least);
    if (!isSuccess(response)) return undefined;
    const after = need(await harness.shown(created.resource));
    const isDefault = (name: string) =>
      view
        .member(name)
        .parts.some((part) => 'default' in part && isSame(part.default, after.row[name], { name, isWord: true }));
    const kept = optional.filter((name) => isSame(created.row[name], after.row[name], { name }) && !isDefault(name));
    // If only some are kept, there may be a specific reason.
    const [first = ''] = kept;
    if (kept.length < optional.length) return [];
    const actual = `it keeps ${kept.slice(0, 3).join(', ')}; ${first}: ${text(after.row[first])}`;
    return [differ('replace-kept', update, '', { actual, exchanges: [created.exchange, response, after.exchange] })];
  },
};

export const replacedAsAWhole: UpdateCheck = {
  name: 'whole',
  describe: 'A property that is declared to be replaced as a whole keeps nothing of its previous value.',
  applies: ({ harness: { document }, update }) => keepsTheRest(document, update),
  async run({ harness, update }, label) {
    const view = bodyOf({ harness, update });
    const names = view.names.filter((name) => view.member(name).states('replaced', true));
    if (names.length === 0) return undefined;
    const created = await harness.createAndRead(label);
    const found: Difference[] = [];
    for (const name of names) {
      const now = created.row[name];
      // The value without one of its properties; for a map, with another key instead.
      const [first] = Object.entries(isObject(now) ? now : {}).flatMap(([left, value]) => {
        const ways = [withoutMember(now as JsonObject, left), { [`${left}-b`]: value }, { [`${left}b`]: value }];
        const least = ways.find((one) => Object.keys(one).length > 0 && harness.accepts(update, { [name]: one }));
        return isNothing(value) || least === undefined ? [] : [{ left, value, least }];
      });
      const response = first && (await harness.change(update, created.resource, { [name]: first.least }));
      const after = response && isSuccess(response) ? await harness.shown(created.resource) : undefined;
      const shown = after?.row[name];
      if (first === undefined || !isObject(shown) || !isSame(shown[first.left], first.value, { name: first.left }))
        continue;
      const exchanges = [created.exchange, response, after?.exchange];
      const actual = `${first.left}: ${text(first.value)}, as it was before`;
      found.push(differ('update-merged', update, name, { actual, node: view.member(name).node, exchanges }));
    }
    return found;
  },
};

export const rejected: UpdateCheck = {
  name: 'rejected',
  describe: 'A rejected update changes nothing.',
  applies: hasBody,
  async run({ harness, update }, label) {
    const created = await harness.createAndRead(label);
    const right = need(changesOf(harness, update, created, label)[0]);
    const response = await harness.change(update, created.resource, {
      ...right,
      ...wrongMember(harness, update, right),
    });
    if (!isRejection(response)) return undefined;
    const after = need(await harness.shown(created.resource));
    const exchanges = [created.exchange, response, after.exchange];
    return Object.keys(changesIn(right, created.row))
      .filter((name) => isScalar(created.row[name]) && !isSame(created.row[name], after.row[name], { name }))
      .map((name) =>
        differ('update-rejected', update, name, { ...valued(name, created.row[name], after.row[name]), exchanges }),
      );
  },
};

/** A property with an invalid value, to send beside valid ones. */
function wrongMember(harness: ResourceHarness, update: Operation, right: JsonObject): JsonObject {
  const candidates = View.ofRequest(harness.document, update)
    .names.toReversed()
    .filter((name) => !(name in right) || Object.keys(changesIn(right, {})).length !== 1)
    .flatMap((name) => [{ wrong: true }, 'wrong', -1].map((value) => ({ [name]: value })));
  return need(candidates.find((one) => !harness.accepts(update, { ...right, ...one })));
}
