import { timingSafeEqual } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { v7 as uuidv7 } from 'uuid';
import { bundleFiles } from './contract/contract.ts';
import { unavailability } from './failure.ts';
import { documentHeaders, pageHeaders } from './http/pages.ts';
import { Problem, problemDocument } from './http/problem.ts';
import type { Service } from './service.ts';
import { sourceFile } from './source-file.ts';

/** Folder that `pnpm reference` writes the page to, with the reference in other formats. */
const referenceFolder = fileURLToPath(new URL('../../../dist', sourceFile('system-routes.ts')));
const referenceFile = join(referenceFolder, 'reference.html');
const nextToReference =
  /^\/(?:llms\.txt|postman_(?:collection|environment)\.json|reference\/(?:[a-z]+\/)?[A-Za-z0-9-]+\.md)$/;

type Page = (request: Request, response: Response) => Promise<void> | void;

/** Endpoints outside the contract: health, the contract itself, and the public keys that verify tokens. */
export function systemRoutes(service: Service): RequestHandler {
  return serve(
    {
      '/healthz': (_request, response) => void current(response).json({ status: 'up' }),
      '/readyz': (_request, response) => ready(service, response),
      ...(service.config.metricsPort === undefined ? metricsPages(service) : {}),
      '/openapi.json': (_request, response) => response.sendFile(bundleFiles.json),
      '/openapi.yaml': (_request, response) => response.type('application/yaml').sendFile(bundleFiles.yaml),
      '/reference': referencePage(),
      '/.well-known/jwks.json': async (_request, response) => void current(response).json(await service.keys.jwks()),
    },
    (path) => (nextToReference.test(path) ? alternateFormat : undefined),
  );
}

/** Only the metrics, for a separate port. */
export function metricsApp(service: Service): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(serve(metricsPages(service)));
  app.use((_request, response) => reject(response, new Problem('NOT_FOUND', 'Only /metrics is served here.')));
  return app;
}

function serve(pages: Readonly<Record<string, Page>>, otherPage?: (path: string) => Page | undefined): RequestHandler {
  return async (request, response, next) => {
    const page = Object.hasOwn(pages, request.path) ? pages[request.path] : otherPage?.(request.path);
    if (page === undefined) return next();
    response.set(documentHeaders);
    if (request.method === 'GET' || request.method === 'HEAD') return page(request, response);
    reject(
      response,
      new Problem('METHOD_NOT_ALLOWED', 'This path supports only GET.', { headers: { Allow: 'GET, HEAD' } }),
    );
  };
}

/** Marks a response that must not be cached. */
function current(response: Response): Response {
  return response.set('Cache-Control', 'no-store');
}

async function ready({ store, log }: Service, response: Response): Promise<void> {
  try {
    await store.ready();
    current(response).json({ status: 'ready' });
  } catch (error) {
    log.warn({ err: error }, 'The service is not ready.');
    reject(response, new Problem('SERVICE_UNAVAILABLE', unavailability(error), { headers: { 'Retry-After': '5' } }));
  }
}

function metricsPages({ config, metrics: { registry } }: Service): Readonly<Record<string, Page>> {
  return {
    '/metrics': async (request, response) => {
      if (config.metricsToken !== undefined && !isBearer(request, config.metricsToken)) {
        const headers = { 'WWW-Authenticate': 'Bearer realm="metrics"' };
        return reject(response, new Problem('UNAUTHENTICATED', 'Send METRICS_TOKEN as a bearer token.', { headers }));
      }
      current(response)
        .type(registry.contentType)
        .send(await registry.metrics());
    },
  };
}

function isBearer(request: Request, token: string): boolean {
  const sent = Buffer.from(request.get('authorization') ?? '');
  const expected = Buffer.from(`Bearer ${token}`);
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}

/** Compressed variants of the page, written by `pnpm reference`. */
const compressed: Readonly<Record<string, string>> = { br: `${referenceFile}.br`, gzip: `${referenceFile}.gz` };

function referencePage(): Page {
  let known: { readonly changedAt: number; readonly headers: Record<string, string> } | undefined;
  return async (request, response) => {
    const changedAt = await stat(referenceFile).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (changedAt === undefined) {
      return reject(response, new Problem('NOT_FOUND', 'The reference is not built. Run "pnpm reference".'));
    }
    if (known?.changedAt !== changedAt) {
      known = { changedAt, headers: pageHeaders(await readFile(referenceFile, 'utf8')) };
    }
    response.set(known.headers).vary('Accept-Encoding').type('html');
    const encoding = request.acceptsEncodings('br', 'gzip', 'identity');
    const file = encoding === false ? undefined : compressed[encoding];
    if (encoding === false || file === undefined) return response.sendFile(referenceFile);
    response.set('Content-Encoding', encoding).sendFile(file);
  };
}

/** Serves the reference as Markdown and the Postman collection. */
function alternateFormat(request: Request, response: Response): void {
  response.sendFile(request.path, { root: referenceFolder }, (error) => {
    if (error === undefined || error === null || response.headersSent) return;
    reject(response, new Problem('NOT_FOUND', 'This page does not exist. /llms.txt lists all pages.'));
  });
}

function reject(response: Response, problem: Problem): void {
  current(response)
    .status(problem.status)
    .set({ ...problem.headers, 'Content-Type': 'application/problem+json; charset=utf-8' })
    .send(JSON.stringify(problemDocument(problem, uuidv7())));
}
