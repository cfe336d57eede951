/** The servers on which `tools.ts` compares tools: each correct, or with one of its drifts, behind a proxy that records. */
import { setTimeout } from 'node:timers/promises';
import { bundle, createConfig } from '@redocly/openapi-core';
import { OpenApiDocument } from '../../src/document/document.ts';
import { operationsOf } from '../../src/document/operation.ts';
import { isObject, type JsonObject } from '../../src/json.ts';
import type { Auth } from '../../src/run/options.ts';
import { type Alter, type AlteringProxy, openProxy } from '../../test/drifts/front.ts';
import type { IncomingRequest, Reply } from '../../test/drifts/message.ts';
import { openWorkshopStage } from '../../test/drifts/stages.ts';
import { workshopDrifts } from '../../test/drifts/workshop/drifts.ts';
import { sample } from '../../test/drifts/workshop/samples.ts';
import { callerOf } from '../../test/independent/fleet/call.mjs';
import { specificationOf, suites } from '../../test/independent/independent.ts';

/** A request and its response, undefined if the connection was closed. */
export interface Exchange {
  readonly request: IncomingRequest;
  readonly response: Reply | undefined;
}

export interface Running {
  readonly url: string;
  /** What was sent to it so far. */
  readonly exchanges: readonly Exchange[];
  /** Sends the requests that show the drifts, all of them, to the server or to a proxy before it. */
  sendProbes(url: string): Promise<void>;
  close(): Promise<void>;
}

export interface Server {
  /** The contract and the credentials for the contract check. */
  readonly spec: string;
  readonly auth: Auth;
  /** The contract in one file for other tools, with an example of each value that they cannot generate. */
  readonly document: JsonObject;
  /** The headers of a caller, and the value of each security scheme. */
  readonly headers: Readonly<Record<string, string>>;
  readonly credentials: Readonly<Record<string, string>>;
  readonly operations: number;
  readonly drifts: readonly string[];
  /** Starts it anew, correct or with one drift. */
  start(drift?: string): Promise<Running>;
  close(): Promise<void>;
}

export const servers: Readonly<Record<string, () => Promise<Server>>> = { workshop: openWorkshop, fleet: openFleet };

/** A workshop with a report and a photo, so that there is an example of each path. */
async function openWorkshop(): Promise<Server> {
  const stage = await openWorkshopStage();
  const shop = await stage.createWorld();
  const { tool, job } = shop.ids;
  // The IDs of the workshop are sequential.
  const [reportId, photoId] = ['0f000000-0000-4000-8000-00000000000a', '0f000000-0000-4000-8000-00000000000b'];
  const headers = { 'If-Match': '*', 'If-None-Match': '"other"', 'Idempotency-Key': 'key-of-the-example' };
  const place = { shelf: 'A1', colours: ['red', 'blue'], span: { from: 3, to: 9 } };
  const examples: JsonObject = { toolId: tool, jobId: job, reportId, photoId, ...place, ...headers };
  const document = await bundled(stage.spec);
  addExamples(document, examples);
  for (const { operationId, requestBody } of objectsIn(document.paths)) {
    if (typeof operationId !== 'string' || !isObject(requestBody) || !isObject(requestBody.content)) continue;
    const [type, media] = Object.entries(requestBody.content)[0] ?? [];
    if (type?.includes('json') && isObject(media)) media.example = JSON.parse(String(sample(operationId, shop).body));
  }
  // Tools send one credential, and have no choice of several.
  for (const node of objectsIn(document))
    if (Array.isArray(node.security) && node.security.length > 0) node.security = [{ bearer: [] }];
  return {
    ...{ spec: stage.spec, auth: shop.auth, document },
    ...{ headers: shop.headers.owner, credentials: { bearer: 'caller-token' } },
    operations: shop.operations.length,
    drifts: workshopDrifts.map(({ name }) => name),
    async start(name) {
      const world = await stage.createWorld();
      const { url } = stage.proxy;
      const photo = new FormData();
      photo.set('caption', 'Front');
      photo.set('file', new Blob(['png'], { type: 'image/png' }), 'front.png');
      const { owner } = world.headers;
      const json = { ...owner, 'content-type': 'application/json' };
      await fetch(`${url}/reports`, { method: 'POST', headers: json, body: '{ "subject": "tools" }' });
      await fetch(`${url}/tools/${tool}/photos`, { method: 'POST', headers: owner, body: photo });
      const exchanges = recorded(stage.proxy, workshopDrifts.find((one) => one.name === name)?.alter(world));
      return {
        url,
        exchanges,
        async sendProbes(at) {
          for (const { probe } of workshopDrifts) await withoutFailing(() => probe(at, world));
        },
        close: async () => stage.proxy.use(undefined),
      };
    },
    close: stage.close,
  };
}

async function openFleet(): Promise<Server> {
  const { start, auth, drifts } = suites.fleet;
  const spec = specificationOf('fleet');
  const operations = operationsOf(await OpenApiDocument.load(spec));
  const document = await bundled(spec);
  addExamples(document, { 'If-Match': '*' });
  // The last ones delete what others need.
  const deletes = ({ name, operation }: (typeof drifts)[number]) => Number(/delete/i.test(`${operation} ${name}`));
  const ordered = drifts.toSorted((one, other) => deletes(one) - deletes(other));
  return {
    ...{ spec, auth, document, headers: { ...(await auth.caller()) } },
    credentials: { api_key: 'key-acme-full-7d1f', portal_session: 'sess-acme-3b77' },
    operations: operations.length,
    drifts: drifts.map(({ name }) => name),
    async start(name) {
      const server = await start(name);
      const proxy = await openProxy(server.url, operations);
      return {
        url: proxy.url,
        exchanges: recorded(proxy),
        async sendProbes(at) {
          for (const { probe } of ordered) await withoutFailing(() => probe(callerOf(at)));
        },
        async close() {
          await proxy.close();
          await server.stop();
        },
      };
    },
    close: async () => {},
  };
}

function recorded(proxy: AlteringProxy, alter: Alter = (request, next) => next(request)): readonly Exchange[] {
  const exchanges: Exchange[] = [];
  proxy.use(async (request, next) => {
    const response = await alter(request, next);
    exchanges.push({ request, response });
    return response;
  });
  return exchanges;
}

/** A drift, or a proxy, can break what the probe of another drift needs, or never respond. */
async function withoutFailing(probe: () => Promise<unknown>): Promise<void> {
  await Promise.race([probe().catch(() => undefined), setTimeout(10_000, undefined, { ref: false })]);
}

async function bundled(spec: string): Promise<JsonObject> {
  const { parsed } = (await bundle({ ref: spec, config: await createConfig({}) })).bundle;
  if (!isObject(parsed)) throw new Error(`${spec} is not an OpenAPI document.`);
  return parsed;
}

/** Adds examples of parameters by their names. */
function addExamples(document: JsonObject, examples: JsonObject): void {
  for (const node of objectsIn(document)) if (String(node.name) in examples) node.example = examples[String(node.name)];
}

export function* objectsIn(value: unknown): Generator<JsonObject> {
  if (isObject(value)) yield value;
  if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) yield* objectsIn(one);
}
