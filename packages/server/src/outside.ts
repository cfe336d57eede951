import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { RequestHandler, Response } from 'express';
import { v7 as uuidv7 } from 'uuid';
import { bundleFiles } from './contract/contract.ts';
import { Problem, problemDocument } from './http/problem.ts';
import type { Service } from './service.ts';

/** Where `pnpm reference` puts the page. */
const referenceFile = fileURLToPath(new URL('../../../dist/reference.html', import.meta.url));

/** What the process serves beside the contract: its state, the contract itself, and the keys that verify tokens. */
export function outside(service: Service): RequestHandler {
  const pages: Readonly<Record<string, (response: Response) => Promise<void> | void>> = {
    '/healthz': (response) => void response.json({ status: 'up' }),
    '/readyz': ready,
    '/metrics': metrics,
    '/openapi.json': (response) => response.sendFile(bundleFiles.json),
    '/openapi.yaml': (response) => response.type('application/yaml').sendFile(bundleFiles.yaml),
    '/reference': reference,
    '/.well-known/jwks.json': async (response) => void response.json(await service.keys.jwks()),
  };
  return async (request, response, next) => {
    const page = Object.hasOwn(pages, request.path) ? pages[request.path] : undefined;
    if (page === undefined) return next();
    if (request.method === 'GET' || request.method === 'HEAD') return page(response);
    refuse(
      response,
      new Problem('METHOD_NOT_ALLOWED', 'This path answers GET only.', { headers: { Allow: 'GET, HEAD' } }),
    );
  };

  async function ready(response: Response): Promise<void> {
    try {
      await service.store.ready();
      response.json({ status: 'ready' });
    } catch (error) {
      service.log.warn({ err: error }, 'The service is not ready.');
      refuse(
        response,
        new Problem('SERVICE_UNAVAILABLE', 'The database does not answer.', { headers: { 'Retry-After': '5' } }),
      );
    }
  }

  async function metrics(response: Response): Promise<void> {
    response.type(service.metrics.registry.contentType).send(await service.metrics.registry.metrics());
  }

  function reference(response: Response): void {
    if (existsSync(referenceFile)) response.sendFile(referenceFile);
    else refuse(response, new Problem('NOT_FOUND', 'The reference is not built. Run "pnpm reference".'));
  }
}

function refuse(response: Response, problem: Problem): void {
  response
    .status(problem.status)
    .set({ ...problem.headers, 'Content-Type': 'application/problem+json; charset=utf-8' })
    .send(JSON.stringify(problemDocument(problem, uuidv7())));
}
