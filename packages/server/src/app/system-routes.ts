import { timingSafeEqual } from 'node:crypto';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contentType } from 'mime-types';
import { bundleFiles, contract } from '../contract/contract.ts';
import { Rejection } from '../contract/rejection.ts';
import type { Service } from '../entity/service.ts';
import { sourceFile } from '../platform/source-file.ts';
import { Documents, type ServedDocument } from '../wire/documents.ts';
import { errorPage, errorPath } from '../wire/error-page.ts';
import type { Exchange } from '../wire/exchange.ts';
import { documentHeaders, pageHeaders } from '../wire/pages.ts';
import type { RouteResult } from '../wire/result.ts';
import type { Route } from '../wire/route.ts';
import { unavailability } from './failure.ts';

/** Folder that `pnpm reference` writes the page to, with the reference in other formats. */
const referenceFolder = fileURLToPath(new URL('../../../../dist', sourceFile('app/system-routes.ts')));
const referenceFile = join(referenceFolder, 'reference.html');
const nextToReference =
  /^\/(?<file>llms\.txt|postman_(?:collection|environment)\.json|reference\/(?:try-it\.json|print\.html)|reference\/(?:[a-z]+\/)?[A-Za-z0-9-]+\.md)$/;

/** Callers may store documents, and ask each time whether they have changed. */
const revalidated = { 'Cache-Control': 'public, max-age=0' };

type Handle = Route['handle'];

function page(name: string, path: string, handle: Handle, more: Partial<Route> = {}): Route {
  return { name, path, methods: ['GET', 'HEAD'], headers: documentHeaders, handle, ...more };
}

/** The contract, its reference, and the public keys that verify tokens. */
export function documentRoutes({ keys, config: { publicUrl } }: Pick<Service, 'keys' | 'config'>): readonly Route[] {
  const documents = new Documents(publicUrl);
  const json = 'application/json; charset=utf-8';
  // Generators and tools call the first server of a contract.
  const contractOf = (path: string, type: string) => document(documents, { ...fileOf(path, type), isAddressed: true });
  return [
    page('contractJson', '/openapi.json', contractOf(bundleFiles.json, json)),
    page('contractYaml', '/openapi.yaml', contractOf(bundleFiles.yaml, 'application/yaml')),
    page('start', '/', () => ({ kind: 'page', status: 302, headers: { Location: '/reference' }, text: '' })),
    page('reference', '/reference', referencePage(documents)),
    page('errors', errorPath, errorPage),
    page('referenceFile', '/reference/{file}', nextTo(documents), { pattern: nextToReference }),
    page('publicKeys', '/.well-known/jwks.json', async () => ({ kind: 'json', status: 200, body: await keys.jwks() })),
  ];
}

export function healthRoutes({ store, log, lifetime }: Pick<Service, 'store' | 'log' | 'lifetime'>): readonly Route[] {
  let check: Promise<void> | undefined;
  // Concurrent requests share one check, so that none queues behind others.
  const ready = () => {
    check ??= store.ready().finally(() => {
      check = undefined;
    });
    return check;
  };
  const isReady = async (): Promise<RouteResult> => {
    if (lifetime.isStopping) throw new Rejection('SERVICE_UNAVAILABLE', 'The process is stopping.');
    try {
      await ready();
      const standbys = store.standbys?.states.map(({ leftOut }) => leftOut ?? 'used');
      const [, ...others] = store.cells;
      const cells = others.map(({ name, isReady }) => [name, isReady ? 'ready' : 'unavailable']);
      const more = {
        ...(standbys === undefined ? {} : { standbys }),
        ...(lifetime.isDrill ? { drill: true } : {}),
        // Whoever is in the others is served, so the process is ready.
        ...(cells.length === 0 ? {} : { cells: Object.fromEntries(cells) }),
      };
      return { kind: 'json', status: 200, body: { status: 'ready', ...more } };
    } catch (error) {
      log.warn({ err: error }, 'Service not ready.');
      throw new Rejection('SERVICE_UNAVAILABLE', unavailability(error), { headers: { 'Retry-After': '5' } });
    }
  };
  const probe = { isProbe: true };
  return [
    page(
      'health',
      '/healthz',
      () => ({ kind: 'json', status: 200, body: { status: 'up', release: contract['x-release'] } }),
      probe,
    ),
    page('readiness', '/readyz', isReady, probe),
  ];
}

export function metricsRoute({ config, metrics: { registry } }: Pick<Service, 'config' | 'metrics'>): Route {
  const { metricsToken: token, metricsPort, trustProxy } = config;
  const metrics = async (exchange: Exchange): Promise<RouteResult> => {
    // On the port of the API, the proxy forwards the path to everybody; what reads the metrics of each process comes directly.
    const isPublic = metricsPort === undefined && trustProxy !== 0 && exchange.header('x-forwarded-for') !== undefined;
    if (token === undefined ? isPublic : !isBearer(exchange, token)) {
      const headers = { 'WWW-Authenticate': 'Bearer realm="metrics"' };
      const detail =
        token === undefined
          ? 'Without METRICS_TOKEN, metrics are not served through a proxy. Read those of each process.'
          : 'Send METRICS_TOKEN as a bearer token.';
      throw new Rejection('UNAUTHENTICATED', detail, { headers });
    }
    return { kind: 'page', status: 200, text: await registry.metrics(), type: registry.contentType };
  };
  return page('metrics', '/metrics', metrics, { isProbe: true, isSameOrigin: true });
}

function isBearer(exchange: Exchange, token: string): boolean {
  const sent = Buffer.from(exchange.header('authorization') ?? '');
  const expected = Buffer.from(`Bearer ${token}`);
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}

function fileOf(path: string, type: string): ServedDocument {
  return { path, headers: { ...revalidated, 'Content-Type': type } };
}

function document(documents: Documents, file: ServedDocument, missing = 'This document does not exist.'): Handle {
  return async (exchange) => {
    const result = await documents.resultOf(file, exchange);
    if (result === undefined) throw new Rejection('NOT_FOUND', missing);
    return result;
  };
}

function referencePage(documents: Documents): Handle {
  return document(
    documents,
    { ...fileOf(referenceFile, 'text/html; charset=utf-8'), isAddressed: true, headersOf: pageHeaders },
    'The reference is not built. Run: npx --yes pnpm@12 reference',
  );
}

/** Serves the reference as Markdown, the Postman collection, and the requests that the reference can send. */
function nextTo(documents: Documents): Handle {
  return (exchange, { file = '' }) => {
    // Only of the ending: a text with a slash counts as a type.
    const type = contentType(extname(file)) || 'application/octet-stream';
    const serve = document(
      documents,
      {
        ...fileOf(join(referenceFolder, file), type),
        isAddressed: true,
        ...(file.endsWith('.html') && { headersOf: pageHeaders }),
      },
      'This page does not exist. /llms.txt lists all pages.',
    );
    return serve(exchange, {});
  };
}
