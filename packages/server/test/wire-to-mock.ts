import { type RunningMock, startMock } from '@financial-automation/mock';
import { expect } from 'vitest';
import { atEnd } from './at-end.ts';
import { type WireResponse, wire } from './wire.ts';

let started: Promise<RunningMock> | undefined;

/** Starts the mock, for the whole file if that calls it before its tests. @returns its URL */
export async function mockUrl(): Promise<string> {
  if (started === undefined) {
    started = startMock({ port: 0 });
    atEnd(async () => {
      await (await started)?.close();
      started = undefined;
    });
  }
  return (await started).url;
}

/** Sends a request to the service. If it is rejected by the contract alone, the mock must return the same problem. */
export async function wireAlsoToMock(address: string, options: Parameters<typeof wire>[1]): Promise<WireResponse> {
  const [response, ofMock] = await Promise.all([wire(address, options), mockUrl().then((url) => wire(url, options))]);
  const { status, json } = response;
  // The mock accepts any token.
  const isOfCaller = Object(json).detail === 'The access token is invalid.';
  if (status >= 400 && !isOfCaller) expect(problemIn(ofMock), JSON.stringify(options)).toEqual(problemIn(response));
  return response;
}

/** All that a problem says about its request. */
function problemIn({ status, headers, json, text }: WireResponse): object {
  const { instance: _instance, requestId: _requestId, ...problem } = Object(json);
  // An unknown path is described by the documents that the server has.
  if (problem.code === 'NOT_FOUND' && problem.errors === undefined) delete problem.detail;
  const { allow, 'content-type': type, 'www-authenticate': challenge } = headers;
  return { status, allow, type, challenge, problem, text: json === undefined ? text : undefined };
}
