import { at, parsedJson } from '../json.ts';
import type { Call, Exchange } from './call.ts';

/**
 * Evaluates an OpenAPI runtime expression.
 *
 * @param path the values of the request's path parameters.
 */
export function evaluate(expression: unknown, { request, response }: Exchange, path: Call['path'] = {}): unknown {
  if (typeof expression !== 'string' || !expression.startsWith('$')) return expression;
  const [source = '', pointer = ''] = expression.split('#');
  const name = source.replace(/^\$\w+\.\w+\./, '');
  if (source === '$response.body') return at(response.json?.value, pointer);
  if (source.startsWith('$response.header.')) return response.headers[name.toLowerCase()];
  if (source.startsWith('$request.query.')) return new URL(request.url).searchParams.get(name) ?? undefined;
  if (source.startsWith('$request.path.')) return path[name];
  return source === '$request.body' ? at(parsedJson(request.body)?.value, pointer) : undefined;
}
