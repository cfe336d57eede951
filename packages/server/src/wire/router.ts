import findMyWay from 'find-my-way';
import { Rejection } from '../contract/rejection.ts';
import type { Route } from './route.ts';

/** What the look-up needs of a route. */
type Findable = Pick<Route, 'path' | 'pattern' | 'methods' | 'headers'>;

export interface Found<Of extends Findable = Route> {
  readonly route: Of;
  readonly parameters: Readonly<Record<string, string>>;
}

export type FindRoute<Of extends Findable = Route> = (method: string, path: string | undefined) => Found<Of>;

/** All paths share one method in the look-up tree, because a path is found independently of the method. */
const anyMethod = 'GET';

/**
 * Finds the route of a request. Fixed segments take precedence over parameters, whatever the method: `/gql/v1/staff/search`
 * is never a staff member.
 *
 * @param notFound the detail of the problem for an unknown path.
 * @throws Rejection `NOT_FOUND` if no route has the path, `METHOD_NOT_ALLOWED` if only routes with other methods have it.
 */
export function createRouter<Of extends Findable>(routes: readonly Of[], notFound: string): FindRoute<Of> {
  const router = findMyWay({ caseSensitive: true, maxParamLength: 500 });
  const fixed = routes.filter(({ pattern }) => pattern === undefined);
  for (const [path, ofPath] of Map.groupBy(fixed, (route) => route.path))
    router.on(anyMethod, path.replaceAll(/\{([^{}]+)\}/g, ':$1'), () => {}, ofPath);
  const matched = routes.flatMap((route) => (route.pattern === undefined ? [] : [{ route, pattern: route.pattern }]));

  const find = (path: string) => {
    const found = router.find(anyMethod, path);
    if (found !== null) return { routes: found.store as readonly Of[], parameters: found.params };
    for (const { route, pattern } of matched) {
      const match = pattern.exec(path);
      if (match !== null) return { routes: [route], parameters: match.groups ?? {} };
    }
    return undefined;
  };

  return (method, path) => {
    const found = path?.startsWith('/') === true ? find(path) : undefined;
    const first = found?.routes[0];
    const parameters: Record<string, string> = {};
    let isEmpty = false;
    for (const name in found?.parameters) {
      const value = found.parameters[name] ?? '';
      parameters[name] = value;
      // An empty segment is not a valid parameter.
      isEmpty ||= value === '' && first?.pattern === undefined;
    }
    if (found === undefined || first === undefined || isEmpty) throw new Rejection('NOT_FOUND', notFound);
    const route = found.routes.find(({ methods }) => methods === undefined || methods.includes(method));
    if (route !== undefined) return { route, parameters };
    const allowed = found.routes.flatMap(({ methods = [] }) => methods);
    // HEAD is GET without the body.
    const named = allowed.filter((one) => one !== 'HEAD').join(' and ');
    throw new Rejection('METHOD_NOT_ALLOWED', `This path supports only ${named}.`, {
      headers: { ...first.headers, Allow: allowed.join(', ') },
    });
  };
}
