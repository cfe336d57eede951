/**
 * Runs the workflows of openapi/workflows against a server: `API_KEY=… APPROVER_API_KEY=… pnpm workflows`. Each is a
 * complete integration, in Arazzo. They write to the tenant: run them on a test tenant. Statuses and the criteria of the workflows are
 * checked; responses are validated by the service itself, and by the contract check.
 */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient, orThrow } from '../packages/client/src/index.ts';
import { startLastEventReceiver, startPayer } from '../packages/server/test/workflow-partners.ts';
import { readOptions } from './options.ts';
import { run } from './test/run.ts';

const workflowsFolder = fileURLToPath(new URL('../openapi/workflows/', import.meta.url));
const bundleFile = fileURLToPath(new URL('../packages/spec/generated/openapi.json', import.meta.url));

interface Step {
  readonly type: string;
  readonly stepId: string;
  readonly checks: readonly { readonly name: string; readonly message: string; readonly status: string }[];
  readonly request?: { readonly method: string; readonly url: string; readonly body?: unknown };
  readonly response?: { readonly statusCode: number; readonly body?: unknown };
}

interface Report {
  readonly files: Readonly<
    Record<
      string,
      { readonly executedWorkflows: readonly { readonly status: string; readonly executedSteps: readonly Step[] }[] }
    >
  >;
}

const { values, positionals } = readOptions({
  options: {
    server: { type: 'string', default: 'http://127.0.0.1:3000' },
    tenant: { type: 'string', default: 'hartwell' },
  },
  allowPositionals: true,
});

try {
  process.exitCode = (await runWorkflows()) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

/** @returns whether every workflow succeeded */
async function runWorkflows(): Promise<boolean> {
  const apiKey = keyFrom('API_KEY');
  const approverApiKey = keyFrom('APPROVER_API_KEY');
  const files = await chosen(positionals);
  const folder = await mkdtemp(join(tmpdir(), 'financial-automation-workflows-'));
  const payer = await startPayer(values.server);
  const receiver = await startLastEventReceiver();
  try {
    await cp(workflowsFolder, join(folder, 'workflows'), { recursive: true });
    await writeFile(join(folder, 'openapi.yaml'), withoutSchemas(await readFile(bundleFile, 'utf8')));
    console.log(`Running ${files.length} workflows against ${values.server}, in the tenant ${values.tenant} …`);
    const addresses = { payer: payer.address, receiver: `${receiver.address}/` };
    const today = await businessDay(apiKey);
    const keys = { apiKey, approverApiKey, run: `r${Date.now().toString(36)}` };
    const input = JSON.stringify({ tenant: values.tenant, ...keys, today, ...addresses });
    const words = ['--server', `contract=${values.server}`, '--input', input, '--json-output=../report.json'];
    const { output } = await run(['redocly', 'respect', ...files, ...words], { directory: join(folder, 'workflows') });
    const report: Report = JSON.parse(
      await readFile(join(folder, 'report.json'), 'utf8').catch(() => {
        throw new Error(`The workflows did not run:\n${output}`);
      }),
    );
    return files.map((file) => print(file, report)).every(Boolean);
  } finally {
    payer.stop();
    receiver.stop();
    await rm(folder, { recursive: true });
  }
}

/** The business day of the tenant, which has a clock of its own if it is a sandbox. */
async function businessDay(apiKey: string): Promise<string> {
  const api = createClient({ baseUrl: values.server, tenant: values.tenant, apiKey });
  const { tenant } = await orThrow(api.getMe({}));
  const { now } = tenant.isSandbox ? await orThrow(api.getSandboxClock({})) : { now: new Date().toISOString() };
  return Temporal.Instant.from(now).toZonedDateTimeISO(tenant.timeZone).toPlainDate().toString();
}

function keyFrom(name: string): string {
  const key = process.env[name];
  if (key === undefined || key === '') {
    const create = `pnpm operator api-key create ${values.tenant} NAME --roles API_ADMIN`;
    throw new Error(
      `Set ${name} to an API key. The two keys must belong to two API users, such as "${create}" creates.`,
    );
  }
  return key;
}

/** The workflow files whose names start with one of these, such as `w7`; all of them by default. */
async function chosen(names: readonly string[]): Promise<string[]> {
  const files = (await readdir(workflowsFolder)).sort((one, other) =>
    one.localeCompare(other, 'en', { numeric: true }),
  );
  const unknown = names.find((name) => !files.some((file) => file.startsWith(`${name}-`)));
  if (unknown !== undefined)
    throw new Error(`Unknown workflow ${unknown}. The workflows are:\n  ${files.join('\n  ')}`);
  return names.length === 0 ? files : files.filter((file) => names.some((name) => file.startsWith(`${name}-`)));
}

/** Removes all schemas: Respect compiles that of a response for each one that it receives, again each time, and recursive ones endlessly. */
function withoutSchemas(contract: string): string {
  const isSchema = (key: string) => key === 'schema' || key === 'schemas';
  return JSON.stringify(JSON.parse(contract, (key, value) => (isSchema(key) ? {} : value)));
}

/** Prints the result of a workflow. @returns whether it succeeded */
function print(file: string, report: Report): boolean {
  const workflows = report.files[file]?.executedWorkflows ?? [];
  const steps = workflows.flatMap(({ executedSteps }) => executedSteps);
  const passed = workflows.length > 0 && workflows.every(({ status }) => status === 'success');
  console.log(`${passed ? '✓' : '✗'} ${file.replace('.arazzo.yaml', '')} (${steps.length} calls)`);
  for (const { stepId, checks = [], request, response } of passed ? [] : steps) {
    const failed = checks.filter(({ status }) => status !== 'success');
    if (failed.length === 0) continue;
    console.log(`  The step ${stepId} failed: ${request?.method.toUpperCase()} ${request?.url}`);
    for (const { name, message } of failed) console.log(`    ${name}: ${message}`);
    console.log(`    It sent ${JSON.stringify(request?.body)}`);
    console.log(`    and received ${response?.statusCode} ${JSON.stringify(response?.body)?.slice(0, 2000)}`);
  }
  return passed;
}
