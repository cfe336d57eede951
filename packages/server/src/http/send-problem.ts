import type { ServerResponse } from 'node:http';
import { v7 as uuidv7 } from 'uuid';
import type { Rejection } from '../contract/rejection.ts';
import { dataHeaders } from './pages.ts';
import { problemDocument } from './problem.ts';

/** Sends a problem outside of the steps of a request. Headers that are set already are kept. */
export function sendProblem(response: ServerResponse, problem: Rejection): void {
  const body = JSON.stringify(problemDocument(problem, uuidv7()));
  response.writeHead(problem.status, {
    ...dataHeaders,
    ...problem.headers,
    'Content-Type': 'application/problem+json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
