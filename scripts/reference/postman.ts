/**
 * The API as a Postman collection (format 2.1) and its environment: a folder per chapter, a request per operation with
 * the contract's examples. The collection gets access tokens automatically.
 */
import { STATUS_CODES } from 'node:http';
import { type Contract, type Operation, operationsOf, type Parameter } from '../../packages/spec/src/examples.ts';
import { operations as index } from '../../packages/spec/src/index.ts';
import { sampleServer } from './samples.ts';

/** Headers that the environment or Postman fills in, by their names in the contract. */
const filledIn: Readonly<Record<string, string>> = { Tenant: '{{tenant}}', 'Idempotency-Key': '{{$guid}}' };

const tokenPath = index.createToken.path;

/** Postman runs it before each request: it gets an access token with the API key if there is none, or if it expires soon. */
const tokenScript = `
if (pm.environment.get('apiKey') && Number(pm.environment.get('tokenExpiresAt') || 0) < Date.now() + 60000) {
  pm.sendRequest({
    url: pm.environment.get('baseUrl') + '${tokenPath}',
    method: '${index.createToken.method}',
    header: { 'Content-Type': 'application/json' },
    body: { mode: 'raw', raw: JSON.stringify({ apiKey: pm.environment.get('apiKey') }) },
  }, (error, response) => {
    if (error || response.code !== 200) {
      console.error('The API key was not exchanged for an access token.', error || response.text());
    } else {
      pm.environment.set('token', response.json().access_token);
      pm.environment.set('tokenExpiresAt', String(Date.now() + response.json().expires_in * 1000));
    }
  });
}
`;

export function postmanCollection(contract: Contract) {
  const operations = operationsOf(contract);
  const chapters = contract.tags.map((tag): { name: string; 'x-displayName': string; description: string } =>
    Object(tag),
  );
  return {
    info: {
      name: contract.info.title,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
      description: contract.info.description,
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{token}}', type: 'string' }] },
    event: [{ listen: 'prerequest', script: { type: 'text/javascript', exec: tokenScript.trim().split('\n') } }],
    item: chapters.map(({ name, 'x-displayName': heading, description }) => ({
      name: heading,
      description,
      item: operations.filter(({ id }) => index[id].tag === name).map(itemOf),
    })),
  };
}

/** The variables of the collection. Secrets are empty: the reader fills in the key, and the collection the token. */
export function postmanEnvironment({ info }: Contract): object {
  const variable = (key: string, value: string, type: 'default' | 'secret') => ({ key, value, type, enabled: true });
  return {
    name: info.title,
    values: [
      variable('baseUrl', sampleServer, 'default'),
      variable('tenant', 'hartwell', 'default'),
      variable('apiKey', '', 'secret'),
      variable('token', '', 'secret'),
      variable('tokenExpiresAt', '', 'default'),
    ],
    _postman_variable_scope: 'environment',
  };
}

function itemOf(operation: Operation) {
  const request = requestOf(operation);
  const response = operation.responses.slice(0, 1).flatMap(({ status, mediaType, examples }) =>
    examples.map(({ name, value }) => ({
      name,
      originalRequest: request,
      status: STATUS_CODES[status] ?? '',
      code: status,
      header: [{ key: 'Content-Type', value: mediaType }],
      body: inJson(value),
      _postman_previewlanguage: 'json',
    })),
  );
  return { name: operation.summary, request, response };
}

function requestOf(operation: Operation) {
  const { method, path, description, parameters } = operation;
  const body = bodyOf(operation);
  const within = (place: Parameter['in']) => parameters.filter((parameter) => parameter.in === place);
  const query = within('query').flatMap((parameter) =>
    [parameter.example].flat().map((value) => entryOf({ ...parameter, example: value })),
  );
  const pathInPostman = path.replaceAll(/\{(\w+)\}/g, ':$1');
  const shown = query.filter(({ disabled }) => disabled !== true).map(({ key, value }) => `${key}=${value}`);
  return {
    method,
    description,
    header: [
      ...within('header').map(entryOf),
      ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }]),
    ],
    url: {
      raw: `{{baseUrl}}${pathInPostman}${shown.length === 0 ? '' : `?${shown.join('&')}`}`,
      host: ['{{baseUrl}}'],
      path: pathInPostman.slice(1).split('/'),
      query,
      variable: within('path').map(entryOf),
    },
    ...(operation.secured ? {} : { auth: { type: 'noauth' } }),
    ...(body === undefined ? {} : { body }),
  };
}

/** A parameter with its example. Optional ones are disabled, for the user to enable. */
function entryOf({ name: key, description, example, required }: Parameter) {
  const value = filledIn[key];
  return {
    key,
    value: value ?? String(example),
    ...(description !== undefined && { description: description.trim() }),
    ...(!required && value === undefined && { disabled: true }),
  };
}

function bodyOf({ id, body }: Operation) {
  const [example] = body?.examples ?? [];
  if (example === undefined) return undefined;
  const value = id === 'createToken' ? { apiKey: '{{apiKey}}' } : example.value;
  return { mode: 'raw', raw: inJson(value), options: { raw: { language: 'json' } } };
}

function inJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
