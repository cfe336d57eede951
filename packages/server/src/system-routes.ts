import { timingSafeEqual } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { bundleFiles } from './contract/contract.ts';
import { unavailability } from './failure.ts';
import { documentHeaders, pageHeaders } from './http/pages.ts';
import { Problem } from './http/problem.ts';
import { sendProblem } from './http/send-problem.ts';
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
      ...healthPages(service),
      ...(service.config.metricsPort === undefined ? metricsPages(service) : {}),
      '/openapi.json': (_request, response) => response.sendFile(bundleFiles.json),
      '/openapi.yaml': (_request, response) => response.type('application/yaml').sendFile(bundleFiles.yaml),
      '/': (_request, response) => void response.redirect(302, '/reference'),
      '/reference': referencePage(),
      '/.well-known/jwks.json': async (_request, response) => void current(response).json(await service.keys.jwks()),
    },
    (path) => (nextToReference.test(path) ? alternateFormat : undefined),
  );
}

/** Metrics and health, for a separate port that callers cannot reach. */
export function probesApp(service: Service): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(serve({ ...healthPages(service), ...metricsPages(service) }));
  app.use((_request, response) =>
    sendProblem(response, new Problem('NOT_FOUND', 'Only /metrics, /healthz and /readyz are served here.')),
  );
  return app;
}

function serve(pages: Readonly<Record<string, Page>>, otherPage?: (path: string) => Page | undefined): RequestHandler {
  return async (request, response, next) => {
    const page = Object.hasOwn(pages, request.path) ? pages[request.path] : otherPage?.(request.path);
    if (page === undefined) return next();
    response.set(documentHeaders);
    if (request.method === 'GET' || request.method === 'HEAD') return page(request, response);
    sendProblem(
      response,
      new Problem('METHOD_NOT_ALLOWED', 'This path supports only GET.', { headers: { Allow: 'GET, HEAD' } }),
    );
  };
}

/** Marks a response that must not be cached. */
function current(response: Response): Response {
  return response.set('Cache-Control', 'no-store');
}

function healthPages({ store, log }: Service): Readonly<Record<string, Page>> {
  let check: Promise<void> | undefined;
  // Concurrent requests share one check, so that none queues behind others.
  const ready = () => {
    check ??= store.ready().finally(() => {
      check = undefined;
    });
    return check;
  };
  return {
    '/healthz': (_request, response) => void current(response).json({ status: 'up' }),
    '/readyz': async (_request, response) => {
      try {
        await ready();
        current(response).json({ status: 'ready' });
      } catch (error) {
        log.warn({ err: error }, 'The service is not ready.');
        const headers = { 'Retry-After': '5' };
        sendProblem(response, new Problem('SERVICE_UNAVAILABLE', unavailability(error), { headers }));
      }
    },
  };
}

function metricsPages({ config, metrics: { registry } }: Service): Readonly<Record<string, Page>> {
  return {
    '/metrics': async (request, response) => {
      if (config.metricsToken !== undefined && !isBearer(request, config.metricsToken)) {
        const headers = { 'WWW-Authenticate': 'Bearer realm="metrics"' };
        return sendProblem(
          response,
          new Problem('UNAUTHENTICATED', 'Send METRICS_TOKEN as a bearer token.', { headers }),
        );
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
      return sendProblem(response, new Problem('NOT_FOUND', 'The reference is not built. Run "pnpm reference".'));
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
    sendProblem(response, new Problem('NOT_FOUND', 'This page does not exist. /llms.txt lists all pages.'));
  });
}
