/** Writes what operations inherit into each of them, and what says the same in one form, so that a comparison finds only what differs. */
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject, objectOf } from '../../../openapi/rules/contract.ts';
import { type Bundle, operationsOf, resolved } from './document.ts';

/** Changes the document. */
export function normalizeOperations(document: Bundle): void {
  renameMethods(document);
  moveBasePath(document);
  for (const { root, item, operation } of operationsOf(document)) {
    operation.parameters = parametersOf(document, item, operation);
    if (root === 'paths') operation.security = securityOf(operation.security ?? document.security);
    if (isObject(operation.responses))
      operation.responses = Object.fromEntries(
        Object.entries(operation.responses).map(([status, response]) => [status.replace(/xx$/, 'XX'), response]),
      );
    for (const response of Object.values(objectOf(operation.responses)).map((one) => resolved(document, one))) {
      normalizeContent(response);
      const headers = Object.entries(objectOf(response.headers));
      const own = headers.filter(([name]) => name.toLowerCase() !== 'content-type');
      if (own.length === 0) delete response.headers;
      else response.headers = Object.fromEntries(own);
    }
    normalizeContent(resolved(document, operation.requestBody));
  }
  for (const root of ['paths', 'webhooks'] as const)
    for (const item of Object.values(objectOf(document[root]))) if (isObject(item)) delete item.parameters;
  if (Object.keys(objectOf(document.webhooks)).length === 0) delete document.webhooks;
  delete document.security;
  for (const scheme of Object.values(objectOf(objectOf(document.components).securitySchemes)).filter(isObject)) {
    delete scheme.bearerFormat;
    for (const key of scheme.in === 'header' ? ['name'] : ['scheme'])
      if (typeof scheme[key] === 'string') scheme[key] = scheme[key].toLowerCase();
  }
}

/** Methods of OpenAPI 3.2 that are no keys of 3.1 become paths of their own. */
function renameMethods(document: Bundle): void {
  const paths = objectOf(document.paths);
  for (const [path, item] of Object.entries(paths)) {
    if (!isObject(item)) continue;
    const others = { ...objectOf(item.additionalOperations), ...(isObject(item.query) ? { QUERY: item.query } : {}) };
    for (const [method, operation] of Object.entries(others))
      paths[`${path} (${method})`] = {
        ...(item.parameters === undefined ? {} : { parameters: item.parameters }),
        post: operation,
      };
    delete item.additionalOperations;
    delete item.query;
  }
}

/** A prefix of all paths can be in the URL of the servers instead. Hosts and environments can change without breaking a caller. */
function moveBasePath(document: Bundle): void {
  const stated = Array.isArray(document.servers) ? document.servers.filter(isObject) : [];
  const servers = stated.length > 0 ? stated : [{ url: '/' }];
  const prefixes = new Set(servers.map(basePath));
  const [prefix = ''] = prefixes;
  if (prefixes.size === 1 && prefix !== '' && isObject(document.paths))
    document.paths = Object.fromEntries(
      Object.entries(document.paths).map(([path, item]) => [`${prefix}${path}`, item]),
    );
  if (prefixes.size > 1) return;
  document.servers = servers.map(({ url, variables }) => {
    const chosen = Object.entries(objectOf(variables)).filter(([name, one]) => {
      const { enum: values } = objectOf(one);
      return Array.isArray(values) && (values.length > 1 || !pathOf(url).includes(`{${name}}`));
    });
    return { url: 'https://server', ...(chosen.length === 0 ? {} : { variables: Object.fromEntries(chosen) }) };
  });
}

const pathOf = (url: unknown) => String(url).replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '');

function basePath({ url, variables }: JsonObject): string {
  const onlyValue = (whole: string, name: string) => {
    const { default: value, enum: values } = objectOf(objectOf(variables)[name]);
    return typeof value === 'string' && (!Array.isArray(values) || values.length === 1) ? value : whole;
  };
  return pathOf(url)
    .replaceAll(/\{([^}]*)\}/g, onlyValue)
    .replace(/\/+$/, '');
}

/** Headers that OpenAPI says are ignored as parameters. */
const ignoredHeaders = new Set(['accept', 'content-type', 'authorization']);
const defaultStyles: Readonly<Record<string, string>> = {
  path: 'simple',
  header: 'simple',
  query: 'form',
  cookie: 'form',
};

function parametersOf(document: Bundle, item: JsonObject, operation: JsonObject): unknown[] {
  const all = [item.parameters, operation.parameters].flatMap((list) => (Array.isArray(list) ? list : []));
  const byKey = new Map<string, unknown>();
  for (const parameter of all) {
    const target = resolved(document, parameter);
    const { in: place, name } = target;
    if (place === 'header' && ignoredHeaders.has(String(name).toLowerCase())) continue;
    normalizeParameter(target, document);
    // Later ones, of the operation, replace those of the path.
    byKey.set(`${place} ${place === 'header' ? String(name).toLowerCase() : name}`, parameter);
  }
  return [...byKey.values()];
}

function normalizeParameter(parameter: JsonObject, document: Bundle): void {
  const style = parameter.style ?? defaultStyles[String(parameter.in)];
  const types = [resolved(document, parameter.schema).type ?? 'array'].flat();
  const isOneValue = !types.some((type) => type === 'array' || type === 'object');
  if (parameter.explode === (style === 'form') || style === 'deepObject' || isOneValue) delete parameter.explode;
  if (parameter.style === defaultStyles[String(parameter.in)]) delete parameter.style;
  for (const key of ['required', 'allowReserved', 'allowEmptyValue', 'deprecated'])
    if (parameter[key] === false) delete parameter[key];
}

/** Alternatives and the schemes of each in a fixed order, each once. */
function securityOf(security: unknown): unknown[] {
  const alternatives = (Array.isArray(security) ? security : []).map((one) =>
    Object.fromEntries(Object.entries(objectOf(one)).sort(([name], [other]) => (name < other ? -1 : 1))),
  );
  return alternatives
    .filter((one, index) => alternatives.findIndex((other) => isDeepStrictEqual(one, other)) === index)
    .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
}

function normalizeContent(holder: JsonObject): void {
  if (!isObject(holder.content)) return;
  holder.content = Object.fromEntries(
    Object.entries(holder.content).map(([type, media]) => [
      type
        .toLowerCase()
        .replaceAll(/\s*;\s*/g, '; ')
        .trim(),
      media,
    ]),
  );
}
