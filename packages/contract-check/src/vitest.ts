import './require-node.ts';

import { beforeAll, describe, expect, test } from 'vitest';
import { check, documentOf } from './check.ts';
import { remembering, secretsOfHeaders } from './credentials.ts';
import { operationsOf } from './document/operation.ts';
import { responseOf } from './http/client.ts';
import { Judge } from './judge/judge.ts';
import type { CheckOptions } from './options.ts';
import { acceptedIn, withoutAccepted } from './report/accepted.ts';
import { coverageRows, percentText, shortfallOf } from './report/coverage-table.ts';
import type { Secret } from './report/mask.ts';
import type { MinCoverage, Report } from './report/report.ts';
import { renderTerminal } from './report/terminal.ts';
import { chosen } from './run/plan.ts';
import { Validators } from './schema/validators.ts';

export interface DescribeOptions {
  /** Path or URL of the document. Each operation is a test. */
  readonly spec: string;
  readonly only?: readonly string[];
  readonly exclude?: readonly string[];
  /** Called once before the first test: starts the server, and returns its URL and how to sign in. */
  readonly options: () => Promise<Omit<CheckOptions, 'spec' | 'only' | 'exclude'>>;
  /**
   * IDs of operations that are not implemented yet. The test of a listed operation fails once it is implemented, so
   * that the list stays correct.
   */
  readonly notReached?: readonly string[];
  /** The file of accepted findings, as `--baseline` reads it. */
  readonly baseline?: string;
  /** The minimum of what the run must reach. Adds a test. */
  readonly minCoverage?: MinCoverage;
  /** Timeout of the whole run in milliseconds. Default: ten minutes. */
  readonly timeout?: number;
}

/**
 * Compares a server with its contract: one test for each operation, which fails with the same report as the command.
 *
 *     await describeContract('the server', { spec: 'openapi.yaml', options: async () => ({ url: await start() }) });
 */
export async function describeContract(
  name: string,
  { spec, options, notReached = [], baseline, minCoverage, timeout = 600_000, ...choice }: DescribeOptions,
): Promise<void> {
  const operations = chosen(operationsOf(await documentOf(spec)), choice);
  describe(name, () => {
    let report: Report;
    const secrets: Secret[] = [];
    beforeAll(async () => {
      const accepted = baseline === undefined ? [] : await acceptedIn(baseline);
      const { auth, headers, ...others } = await options();
      secrets.push(...secretsOfHeaders(headers ?? {}));
      const all = await check({
        spec,
        ...choice,
        ...others,
        ...(headers === undefined ? {} : { headers }),
        ...(auth === undefined ? {} : { auth: remembering(auth, (secret) => secrets.push(secret)) }),
      });
      report = withoutAccepted(all, accepted);
    }, timeout);
    test.each(operations.map(({ id }) => id))('%s', (id) => {
      const isAllowed = notReached.includes(id);
      const findings = report.findings.filter(
        ({ operation, also, check: name }) =>
          (operation === id || also.includes(id)) && !(isAllowed && name === 'not-implemented'),
      );
      if (findings.length > 0) {
        const operations = report.operations.filter((one) => one.id === id);
        throw new Error(renderTerminal({ ...report, operations, findings }, { color: false, secrets }));
      }
      const operation = report.operations.find((one) => one.id === id);
      if (isAllowed) expect(operation?.reached, `${id} is reached now: remove it from notReached`).toBe(false);
      else expect(operation?.reached, operation?.reason).toBe(true);
    });
    if (minCoverage === undefined) return;
    test('covers enough of the contract', () => {
      const rows = coverageRows(report.coverage).map(({ name, part }) => `${name}: ${percentText(part)}`);
      expect(shortfallOf(report.coverage, minCoverage), rows.join(', ')).toBeUndefined();
    });
  });
}

/**
 * Matchers for Vitest. `expect(response).toMatchContract('getClient')` checks a response of `fetch` against the
 * responses that the operation declares. Extend `expect` once, in a setup file:
 *
 *     expect.extend(await contractMatchers('openapi.yaml'));
 */
export async function contractMatchers(spec: string) {
  const document = await documentOf(spec);
  const operations = new Map(operationsOf(document).map((operation) => [operation.id, operation]));
  const judge = new Judge(document, Validators.of(document));
  return {
    async toMatchContract(received: Response, operationId: string) {
      const operation = operations.get(operationId);
      if (operation === undefined) throw new Error(`The contract has no operation ${operationId}.`);
      const text = await received.clone().text();
      const response = responseOf(received.status, Object.fromEntries(received.headers), text, 0);
      const request = {
        method: operation.method,
        url: received.url || 'http://localhost/',
        headers: {},
        body: undefined,
      };
      const found = judge.judge({ operation, request, response });
      const lines = found.map(
        ({ title, place }) => `${title}${place === undefined ? '' : ` (${place.file}:${place.line})`}`,
      );
      return {
        pass: found.length === 0,
        message: () => (found.length === 0 ? `The response matches ${operationId}.` : lines.join('\n')),
      };
    },
  };
}
