import { setTimeout as pause } from 'node:timers/promises';
import type { Operation } from '../../../document/operation.ts';
import type { Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject, withoutMember } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import { View } from '../../../schema/view.ts';
import { type BehaviorCheck, type Difference, differ, ifSeen, need, text, valued } from '../observe.ts';
import { isNothing, isRejection, isSame, isScalar, resourceIn } from './compare.ts';
import { notKept, once } from './effects.ts';
import type { Created, ResourceHarness, Shown } from './harness.ts';
import { changesIn, isWritable, type Updating } from './updating.ts';

type UpdateCheck = BehaviorCheck<Updating>;

const hasBody = ({ view }: Updating) => !view.isEmpty;

export const changed: UpdateCheck = {
  name: 'change',
  describe: 'An update is stored and returned, and changes only what was sent.',
  applies: hasBody,
  async run(updating, label) {
    const { harness, update } = updating;
    const created = await harness.createAndRead(label);
    const other = await ifSeen(() => harness.createAndRead(`${label} other`));
    const started = performance.now();
    const differences: Difference[] = [];
    let before = created;
    for (const body of updating.changes(created, label)) {
      if (harness.session.isOver) break;
      const { response, after } = await updating.apply(created, body);
      if (after === undefined || response.response.status === 202) continue;
      differences.push(...compared(updating, body, before, after, response));
      before = { ...before, ...after };
    }
    if (before === created) return undefined;
    return once([
      ...differences,
      ...(await unmoved(updating, created, before, started)),
      ...(await untouched(harness, update, other, before.exchange)),
    ]);
  },
};

function compared(updating: Updating, body: JsonObject, before: Created, after: Shown, by: Exchange): Difference[] {
  const { harness, update, view } = updating;
  const { document, resourceType } = harness;
  const exchanges = [by, after.exchange];
  const sent = { value: changesIn(body, before.row), view };
  const isReturned = isObject(by.response.json?.value);
  const returned = isReturned ? View.ofResponse(document, update, by.response.status) : View.of(document, undefined);
  const shown = { row: after.row, view: View.ofResponse(document, resourceType.read) };
  return [
    ...notKept('update-lost', update, sent, shown, exchanges),
    ...notKept('update-echo', update, sent, { row: resourceIn(by), view: returned, isPartial: true }, exchanges),
    ...othersIn(updating, body, before, after).map((name) => {
      const facts = { ...valued(name, before.row[name], after.row[name]), node: view.member(name).node, exchanges };
      return differ('update-others', update, name, facts);
    }),
  ];
}

/** Properties that were not sent but changed, although only this update can have changed them. */
function othersIn(updating: Updating, body: JsonObject, { row, resource }: Created, after: Shown): string[] {
  const { document, resourceType } = updating.harness;
  const created = View.ofRequest(document, resourceType.create);
  return Object.keys(row).filter((name) => {
    // A PUT may clear properties that it omits.
    const mayClear = !updating.isMerging && isWritable(updating.view, name) && updating.view.names.includes(name);
    if (name in body || isNothing(row[name]) || mayClear) return false;
    const isFixed = /^(?:id|uuid|created_?at|created|created_?on)$/i.test(name);
    const wasSet = name in resource.sent && isWritable(created, name);
    return (isFixed || wasSet) && JSON.stringify(after.row[name]) !== JSON.stringify(row[name]);
  });
}

/** Reports a version or modification time that an update does not change. */
async function unmoved(updating: Updating, first: Created, last: Created, started: number): Promise<Difference[]> {
  const names = Object.keys(first.row).filter((name) => !updating.view.names.includes(name));
  const version = names.find((name) => /^_?(?:version|revision|rev)$/i.test(name) && Number.isInteger(first.row[name]));
  const isMoment = /^(?:updated|modified|lastModified|last_modified|lastUpdated)[-_]?(?:at|on|date|time)?$/i;
  const moment = names.find((name) => isMoment.test(name) && typeof first.row[name] === 'string');
  const stays = (name: string | undefined, { row, exchange }: Shown) => {
    if (name === undefined || first.row[name] !== row[name]) return [];
    const facts = { actual: `${name}: ${text(row[name])}`, exchanges: [first.exchange, exchange] };
    return [differ('update-timestamp', updating.update, name, facts)];
  };
  const found = stays(version, last);
  if (moment === undefined || first.row[moment] !== last.row[moment]) return found;
  // With a resolution of one second, the time may still be the same.
  await pause(Math.max(0, 1100 - (performance.now() - started)));
  const [body] = updating.changes(last, `${text(first.resource.id)} later`);
  const { after } = body === undefined ? {} : await updating.apply(first, body);
  return after === undefined ? found : [...found, ...stays(moment, after)];
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
  applies: (updating) => updating.update.method === 'PUT' && hasBody(updating) && !updating.isMerging,
  async run(updating, label) {
    const { harness, update, view } = updating;
    const created = await harness.createAndRead(label);
    const whole = updating.whole(created);
    const optional = updating.writable.filter((name) => {
      const value = whole[name];
      const isShown = !isNothing(value) && isScalar(value) && isSame(value, created.row[name], { name });
      return isShown && updating.accepts(withoutMember(whole, name));
    });
    const least = Object.fromEntries(Object.entries(whole).filter(([name]) => !optional.includes(name)));
    if (optional.length === 0 || !updating.accepts(least)) return undefined;
    const { response, ...shown } = await updating.apply(created, least);
    const after = need(shown.after);
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
  applies: ({ isMerging, view }) => isMerging && view.names.some((name) => view.member(name).states('replaced', true)),
  async run(updating, label) {
    const { harness, update, view } = updating;
    const created = await harness.createAndRead(label);
    const found: Difference[] = [];
    for (const name of view.names.filter((one) => view.member(one).states('replaced', true))) {
      const now = created.row[name];
      // The value without one of its properties; for a map, with another key instead.
      const [first] = Object.entries(isObject(now) ? now : {}).flatMap(([left, value]) => {
        const ways = [withoutMember(now as JsonObject, left), { [`${left}-b`]: value }, { [`${left}b`]: value }];
        const least = ways.find((one) => Object.keys(one).length > 0 && updating.accepts({ [name]: one }));
        return isNothing(value) || least === undefined ? [] : [{ left, value, least }];
      });
      if (first === undefined) continue;
      const { response, after } = await updating.apply(created, { [name]: first.least });
      const shown = after?.row[name];
      if (!isObject(shown) || !isSame(shown[first.left], first.value, { name: first.left })) continue;
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
  async run(updating, label) {
    const { harness, update } = updating;
    const created = await harness.createAndRead(label);
    const right = need(updating.changes(created, label)[0]);
    const response = await updating.send(created.resource, { ...right, ...wrongMember(updating, right) });
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
function wrongMember(updating: Updating, right: JsonObject): JsonObject {
  const candidates = updating.view.names
    .toReversed()
    .filter((name) => !(name in right) || Object.keys(changesIn(right, {})).length !== 1)
    .flatMap((name) => [{ wrong: true }, 'wrong', -1].map((value) => ({ [name]: value })));
  return need(candidates.find((one) => !updating.accepts({ ...right, ...one })));
}
