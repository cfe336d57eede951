import type { Exchange } from '../../../http/call.ts';
import { isObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import type { Session } from '../../../run/session.ts';
import type { Bench, Thing } from './bench.ts';
import { isGone } from './create.ts';
import { type Look, text } from './probe.ts';
import { thingIn } from './thing-in.ts';

/** `Location` leads to what was made, or to where it is told what becomes of it. */
export function located(bench: Bench): Look {
  const { create } = bench.resource;
  return async (label) => {
    const thing = await bench.make(label);
    const location = thing?.made.answer.headers.location;
    if (thing === undefined || location === undefined) return undefined;
    const declared = create.answers.find(({ status }) => status === String(thing.made.answer.status));
    const node = declared?.headers.find(({ name }) => name.toLowerCase() === 'location')?.node;
    const there = await follow(bench.session, thing.made, location);
    const differs = (title: string, actual: string) => [
      {
        check: 'location',
        operation: create,
        about: '',
        title,
        expected: `${location} leads to ${text(thing.id)}`,
        actual,
        node,
        fix: 'Send the address where the new thing is read.',
        exchanges: [thing.made, there],
      },
    ];
    if (there === undefined) return undefined;
    if (isGone(there))
      return differs('Location leads nowhere', `${there.answer.status} ${there.answer.text.slice(0, 100)}`);
    if (!isSuccess(there) || thing.made.answer.status === 202 || isThing(bench, thing, there)) return [];
    return differs('Location leads to something else', there.answer.text.slice(0, 200));
  };
}

function isThing(bench: Bench, thing: Thing, there: Exchange): boolean {
  if (thing.id === undefined || !isObject(there.answer.json?.value)) return true;
  return bench.isOf(thing, thingIn(there)) || there.answer.text.includes(String(thing.id));
}

/** Reads an address of the server under check, wherever it says that it is. */
export async function follow(session: Session, from: Exchange, location: string): Promise<Exchange | undefined> {
  if (!URL.canParse(location, from.request.url)) return undefined;
  const { pathname, search } = new URL(location, from.request.url);
  const base = basePath(session);
  const path = pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
  return session.sendRaw({ method: 'GET', target: `${path}${search}`, headers: { accept: '*/*' }, body: undefined });
}

/** The part of the server's address that the contract's paths follow. */
function basePath({ options, document }: Session): string {
  const servers = Array.isArray(document.root.servers) ? document.root.servers : [];
  const address = String(options.url ?? document.object(servers[0]).url);
  return URL.canParse(address) ? new URL(address).pathname.replace(/\/$/, '') : '';
}
