import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { withOpenItems } from '@financial-automation/spec/open-items';
import express, { type Express, type Request, type Response } from 'express';
import { middleware } from 'express-openapi-validator';
import { contract, type Operation } from '../src/contract/contract.ts';
import { declarationsOf } from '../src/contract/parameters.ts';
import type { ContractValidator, Finding, RequestParts } from '../src/contract/validator.ts';
import { type Difference, isKnown } from './known-differences.ts';

type Options = Parameters<typeof middleware>[0];
type JsonObject = Readonly<Record<string, unknown>>;

/** A validator whose verdicts are checked by a second one. */
export interface Judged {
  readonly validator: ContractValidator;
  /** Returns the differences between the two, once all verdicts are checked. */
  differences(): Promise<readonly Difference[]>;
}

/**
 * Has each verdict of a validator checked by `express-openapi-validator`, mounted in an Express application as its documentation
 * says. The verdicts are those of the given validator.
 */
export function judged(validator: ContractValidator): Judged {
  const found: Promise<Difference | undefined>[] = [];
  const compare = async (
    operation: Operation,
    message: string,
    own: Finding[],
    second: Promise<string | undefined>,
    value: unknown,
  ) => {
    const other = await second;
    if ((own.length === 0) === (other === undefined)) return undefined;
    const difference = { operation: operation.id, message, own, other, value };
    return isKnown(difference) ? undefined : difference;
  };
  return {
    validator: {
      request(operation, parts) {
        // Validation adds defaults to the body.
        const same = { ...parts, body: structuredClone(parts.body) };
        const result = validator.request(operation, parts);
        found.push(compare(operation, 'request', result.findings, errorOfRequest(operation, same), same));
        return result;
      },
      response(operation, status, contentType, body) {
        const findings = validator.response(operation, status, contentType, body);
        if (body === undefined) return findings;
        const second = errorOfResponse(operation, status, contentType, body);
        found.push(compare(operation, String(status), findings, second, body));
        return findings;
      },
    },
    async differences() {
      return (await Promise.all(found)).filter((difference) => difference !== undefined);
    },
  };
}

export function describeDifferences(differences: readonly Difference[]): string {
  const lines = differences.slice(0, 20).map(({ operation, message, own, other, value }) => {
    const verdict = `the server: ${JSON.stringify(own)}, express-openapi-validator: ${other}`;
    return `${operation} ${message}: ${verdict}\n  ${JSON.stringify(value).slice(0, 1_000)}`;
  });
  return `The validators differ in ${differences.length} messages.\n${lines.join('\n')}`;
}

const ofRequests = new Map<string, Express>();
const ofResponses = new Map<string, Express>();

function errorOfRequest(operation: Operation, parts: RequestParts): Promise<string | undefined> {
  const app = cached(ofRequests, operation.id, () =>
    mounted(withOpenItems(requestDocument(operation)), { validateRequests: true, validateResponses: false }),
  );
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parts.path[name] ?? ''));
  // A page of the console passes a parameter without a value as undefined.
  const given = Object.entries(parts.query).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given.flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)])));
  const url = query.size === 0 ? path : `${path}?${query}`;
  // Lines are judged as the JSON that they stand for.
  const type = operation.lines === null ? {} : { 'content-type': 'application/json' };
  return sent(app, { method: operation.method, url, headers: { ...parts.headers, ...type }, body: parts.body });
}

function errorOfResponse(
  operation: Operation,
  status: number,
  contentType: string,
  body: unknown,
): Promise<string | undefined> {
  const declared = declarationsOf(operation)[1]?.responses?.[status];
  // Operations share the responses of errors, and the validator would compile them again for each operation.
  const app = cached(ofResponses, declared?.$ref ?? `${operation.id} ${status}`, () => {
    const paths = { '/': { get: { responses: { ...(declared === undefined ? {} : { [status]: declared }) } } } };
    return mounted(documentOf(paths), { validateRequests: false, validateResponses: true });
  });
  return sent(app, { method: 'GET', url: '/', headers: {}, body: undefined, reply: { status, contentType, body } });
}

interface Message {
  readonly method: string;
  readonly url: string;
  readonly headers: JsonObject;
  readonly body: unknown;
  readonly reply?: { readonly status: number; readonly contentType: string; readonly body: unknown };
}

/** Passes a request through an application without a connection. @returns the error that the validator passes on */
function sent(app: Express, { method, url, headers, body, reply }: Message): Promise<string | undefined> {
  return new Promise((resolve) => {
    const request = new IncomingMessage(new Socket());
    Object.assign(request, { method, url, headers, body });
    const response = new ServerResponse(request);
    replies.set(request, { reply, accept: () => resolve(undefined) });
    app(request as Request, response as Response, (error: unknown) => resolve(String(error)));
  });
}

/** What the application responds with if the validator accepts the request, and what it calls then. */
const replies = new WeakMap<object, { readonly reply: Message['reply'] | undefined; accept(): void }>();

function mounted(apiSpec: JsonObject, options: Pick<Options, 'validateRequests' | 'validateResponses'>): Express {
  const app = express();
  app.use(
    middleware({
      ...options,
      apiSpec: apiSpec as unknown as Exclude<Options['apiSpec'], string>,
      // The contract is linted, and the server checks credentials itself.
      validateApiSpec: false,
      validateSecurity: false,
      fileUploader: false,
      // Otherwise any text is a date. The contract has a pattern for each decimal.
      ajvFormats: { mode: 'full' },
      formats: { decimal: true },
    }),
  );
  app.use((request: Request, response: Response) => {
    const { reply, accept } = replies.get(request) ?? {};
    if (reply !== undefined) response.status(reply.status).type(reply.contentType).json(reply.body);
    // The validator does not end a response that it rejects.
    if (reply === undefined || response.writableEnded) accept?.();
  });
  return app;
}

function requestDocument(operation: Operation): JsonObject {
  const [item, { parameters, requestBody } = {}] = declarationsOf(operation);
  const own = { parameters, requestBody, responses: {} };
  return documentOf({ [operation.path]: { parameters: item?.parameters, [operation.method.toLowerCase()]: own } });
}

/** A document of these paths and the components that they use. The validator changes it, so it is a copy. */
function documentOf(paths: JsonObject): JsonObject {
  const components: Record<string, Record<string, unknown>> = {};
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const value of Object.values(node)) {
      const [, kind = '', name = ''] =
        (typeof value === 'string' && /^#\/components\/(\w+)\/([^/]+)$/.exec(value)) || [];
      if (name === '') visit(value);
      else if (components[kind]?.[name] === undefined) {
        const target = (contract.components as Readonly<Record<string, JsonObject>>)[kind]?.[name];
        components[kind] = { ...components[kind], [name]: target };
        visit(target);
      }
    }
  };
  visit(paths);
  const document = { openapi: '3.1.0', info: { title: 'Contract', version: '1' }, paths, components };
  // Of a nested discriminator, the validator expects the property in the body itself. `oneOf` says the same without it.
  return JSON.parse(JSON.stringify(document, (key, value) => (key === 'discriminator' ? undefined : value)));
}

function cached(apps: Map<string, Express>, id: string, create: () => Express): Express {
  const app = apps.get(id) ?? create();
  apps.set(id, app);
  return app;
}
