import './require-node.ts';

import { beforeAll, describe, expect, test } from 'vitest';
import { check, documentOf } from './check.ts';
import { operationsOf } from './document/operation.ts';
import type { Secret } from './http/mask.ts';
import { acceptedIn, withoutAccepted } from './report/accepted.ts';
import { renderTerminal } from './report/terminal.ts';
import { deleterOf } from './run/footprint.ts';
import type { CheckOptions } from './run/options.ts';
import { chosen } from './run/plan.ts';
import { type Report, shortfallText } from './run/report.ts';

export interface DescribeOptions {
  /** Path or URL of the document. Each operation is a test. */
  readonly spec: string;
  readonly only?: readonly string[];
  readonly exclude?: readonly string[];
  /** Called once before the first test: starts the server, and returns its URL and how to sign in. */
  readonly options: () => Promise<Omit<CheckOptions, 'spec' | 'only' | 'exclude'>>;
  /** The file of accepted findings, as `--baseline` reads it. */
  readonly baseline?: string;
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
  { spec, options, baseline, timeout = 600_000, ...choice }: DescribeOptions,
): Promise<void> {
  const operations = chosen(operationsOf(await documentOf(spec)), choice);
  describe(name, () => {
    let report: Report;
    const secrets: Secret[] = [];
    beforeAll(async () => {
      const accepted = baseline === undefined ? [] : await acceptedIn(baseline);
      const onSecret = (secret: Secret) => secrets.push(secret);
      const whole = await check({ spec, ...choice, onSecret, ...(await options()) });
      report = withoutAccepted(whole, accepted, secrets);
    }, timeout);
    test.each(operations.map(({ id }) => id))('%s', (id) => {
      const findings = report.findings.filter(({ operation, also }) => operation === id || also.includes(id));
      if (findings.length > 0) {
        const operations = report.operations.filter((one) => one.id === id);
        throw new Error(renderTerminal({ ...report, operations, findings }, { color: false, secrets }));
      }
      const operation = report.operations.find((one) => one.id === id);
      expect(operation?.reached, operation?.reason).toBe(true);
    });
    test('deletes what it created, where the contract has a DELETE', () => {
      const targets = report.left.created.flatMap((one) => one.targets);
      expect(targets.filter((target) => deleterOf(operations, target) !== undefined)).toEqual([]);
    });
    test('covers enough of the contract', () => {
      const { shortfall } = report;
      expect(shortfall, shortfall && shortfallText(shortfall)).toBeUndefined();
    });
  });
}
