/** Calls of the service with the examples of all requests, for tests. */

import type { Running } from '../../packages/server/src/main/main.ts';
import { startMailSink } from '../../packages/server/test/mail-sink.ts';
import { serveForFile } from '../../packages/server/test/serve.ts';
import { exampleRequest } from '../../packages/spec/src/example-requests.ts';
import { operationsOf, readContract } from '../../packages/spec/src/examples.ts';
import { operations as index } from '../../packages/spec/src/index.ts';

const operations = operationsOf(await readContract());

/** Starts a server with the tenant and the settings of the demo, and a mail server, for this file. */
export async function serveDemo(): Promise<Running> {
  const { url } = await startMailSink();
  const mail = { SANDBOX_SMTP_URL: url, MAIL_FROM: 'billing@hartwell.example.com' };
  return serveForFile({ RATE_LIMIT_FACTOR: '100', WEBHOOK_ALLOW_LOOPBACK: 'on', ...mail }, 'demo');
}

export async function tokenOf(address: string, apiKey: string): Promise<string> {
  const response = await fetch(`${address}/v1/auth/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ apiKey }),
  });
  return String(Object(await response.json()).access_token);
}

/** Examples of requests that cannot succeed in the demo tenant as it is created, and why. */
const inOtherState: Record<string, string> = {
  'updateEngagement send': 'The engagement of the examples is signed.',
};
/** Searches of rows that no demo tenant has. */
const withoutRows = ['searchMails'];

/** Reactivates the subscription of the examples, which is inactive because its receiver does not exist. */
export async function reactivateSubscription(address: string, { tenant, token }: Caller): Promise<void> {
  const operation = operations.find(({ id }) => id === 'reactivateEventSubscription');
  if (operation === undefined) throw new Error('The contract has no reactivateEventSubscription.');
  const { method, path, headers } = exampleRequest(operation, { token });
  const response = await fetch(address + path, { method, headers: { ...headers, Tenant: tenant } });
  if (!response.ok) throw new Error(`The subscription was not reactivated: ${await response.text()}`);
}

export interface Caller {
  readonly tenant: string;
  readonly token: string;
}

/**
 * Sends the examples of every operation, all of them or the first ones. Writes are dry runs, so that nothing remains; what has no dry run is left out, but for
 * what changes nothing anyway.
 *
 * @returns those with another status, searches that find nothing, and bulk requests of which every item fails
 */
export async function failedExamples(
  address: string,
  { tenant, token }: Caller,
  maxExamples = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  const failed: string[] = [];
  for (const operation of operations) {
    if (['createToken', 'advanceSandboxClock'].includes(operation.id)) continue;
    const isRehearsed = 'Dry-Run' in index[operation.id].headers;
    const examples = operation.body?.examples.map(({ name }) => name) ?? [undefined];
    for (const example of examples.slice(0, maxExamples)) {
      const request = exampleRequest(operation, { token, ...(example !== undefined && { example }) });
      const { method, path, body } = request;
      const response = await fetch(address + path, {
        method,
        headers: { ...request.headers, Tenant: tenant, ...(isRehearsed && { 'Dry-Run': 'true' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const name = `${operation.id} ${example ?? ''}`;
      const received = await response.text();
      const isExpected = response.status === (name in inOtherState ? 409 : operation.responses[0]?.status);
      if (!isExpected) failed.push(`${name}: ${response.status} ${received.slice(0, 600)}`);
      else if (/^search/.test(operation.id) && !withoutRows.includes(operation.id) && isEmpty(JSON.parse(received)))
        failed.push(`${name} finds nothing`);
      else if (hasOnlyFailures(received)) failed.push(`${name}: every item fails. ${received.slice(0, 600)}`);
    }
  }
  return failed;
}

function isEmpty(page: { readonly data?: readonly unknown[] }): boolean {
  return page.data?.length === 0;
}

function hasOnlyFailures(received: string): boolean {
  const { succeeded, failed, summary } = received.startsWith('{') ? JSON.parse(received) : {};
  if (summary?.total !== undefined) return summary.failed === summary.total;
  return Array.isArray(succeeded) && succeeded.length === 0 && failed.length > 0;
}
