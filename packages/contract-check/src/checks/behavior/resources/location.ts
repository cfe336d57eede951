import type { Exchange } from '../../../http/call.ts';
import { isObject } from '../../../json.ts';
import { isSuccess } from '../../../run/baseline.ts';
import type { Session } from '../../../run/session.ts';
import { isGone } from './create.ts';
import { type Observation, text } from './probe.ts';
import type { Resource, ResourceHarness } from './resource-harness.ts';
import { resourceIn } from './resource-in.ts';

/** Checks that `Location` leads to the created resource, or to the status of its creation. */
export function located(harness: ResourceHarness): Observation {
  const { create } = harness.resourceType;
  return async (label) => {
    const resource = await harness.create(label);
    const location = resource?.created.response.headers.location;
    if (resource === undefined || location === undefined) return undefined;
    const declared = create.responses.find(({ status }) => status === String(resource.created.response.status));
    const node = declared?.headers.find(({ name }) => name.toLowerCase() === 'location')?.node;
    const there = await follow(harness.session, resource.created, location);
    const differs = (title: string, actual: string) => [
      {
        check: 'location' as const,
        operation: create,
        about: '',
        title,
        expected: `${location} returns ${text(resource.id)}`,
        actual,
        node,
        fix: 'Send the URL of the created resource.',
        exchanges: [resource.created, there],
      },
    ];
    if (there === undefined) return undefined;
    if (isGone(there))
      return differs(
        'Location does not lead to the created resource',
        `${there.response.status} ${there.response.text.slice(0, 100)}`,
      );
    if (!isSuccess(there) || resource.created.response.status === 202 || isResource(harness, resource, there))
      return [];
    return differs('Location leads to another resource', there.response.text.slice(0, 200));
  };
}

function isResource(harness: ResourceHarness, resource: Resource, there: Exchange): boolean {
  if (resource.id === undefined || !isObject(there.response.json?.value)) return true;
  return harness.isOf(resource, resourceIn(there)) || there.response.text.includes(String(resource.id));
}

/** Requests a URL on the server under test, regardless of its host. */
export async function follow(session: Session, from: Exchange, location: string): Promise<Exchange | undefined> {
  if (!URL.canParse(location, from.request.url)) return undefined;
  const { pathname, search } = new URL(location, from.request.url);
  const base = basePath(session);
  const path = pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
  return session.sendRaw({ method: 'GET', target: `${path}${search}`, headers: { accept: '*/*' }, body: undefined });
}

/** The path prefix of the server URL. */
function basePath({ options, document }: Session): string {
  const servers = Array.isArray(document.root.servers) ? document.root.servers : [];
  const address = String(options.url ?? document.object(servers[0]).url);
  return URL.canParse(address) ? new URL(address).pathname.replace(/\/$/, '') : '';
}
