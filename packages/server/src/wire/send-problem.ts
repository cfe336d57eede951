import type { ServerResponse } from 'node:http';
import type { Rejection } from '../contract/rejection.ts';
import { newId } from '../platform/store/new-id.ts';
import { CrossOrigin } from './cross-origin.ts';
import { dataHeaders } from './pages.ts';
import { problemResult, send } from './result.ts';

/**
 * Sends a problem outside of the steps of a request. Headers that are set already are kept.
 *
 * @param corsOrigins origins whose pages can read it. Their preflights succeed, because a page cannot read the response to one.
 */
export function sendProblem(response: ServerResponse, problem: Rejection, corsOrigins: readonly string[]): void {
  const { method = '', headers: sent } = response.req;
  const asked = { method, header: (name: string) => sent[name]?.toString() };
  const crossOrigin = new CrossOrigin(corsOrigins);
  const result = crossOrigin.preflight(asked) ?? problemResult(problem, newId());
  // Also the connection of a preflight is closed, if that of its call would be.
  const Connection = problem.headers.Connection ?? '';
  const headers = { ...dataHeaders, ...(Connection !== '' && { Connection }) };
  void send(response, crossOrigin.readable(result, asked, undefined), headers);
}
