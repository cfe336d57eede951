/** The command: parses the options, runs the check, writes the reports, and sets the exit code. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { Command, CommanderError } from 'commander';
import packageFile from '../package.json' with { type: 'json' };
import { CannotRun, required } from './cannot-run.ts';
import { type Flags, optionsOf, withOptions } from './config.ts';
import { Mask, type Secret } from './http/mask.ts';
import { acceptAll, acceptedIn, withoutAccepted } from './report/accepted.ts';
import { renderJson, renderJunit, renderSarif } from './report/formats.ts';
import { planSummary, renderPlan } from './report/plan.ts';
import { progressLine, renderTerminal } from './report/terminal.ts';
import { counted, fileOf } from './report/texts.ts';
import { isComplete, type Report } from './run/report.ts';

const exitCodes = { same: 0, drift: 1, couldNotRun: 2, incomplete: 3 } as const;

/** What the command does. Loaded on demand, so that `--help` and invalid options respond quickly. */
type Work = Pick<typeof import('./check.ts'), 'check' | 'planOf'>;

interface Surroundings {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly directory: string;
}

type Stream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

const help = `
Examples:
  contract-check --spec openapi.yaml --url http://localhost:3000
  contract-check --spec openapi.yaml --only '*clients*' --exclude 'DELETE *' --plan
  contract-check --spec openapi.yaml --url https://test.example.com --auth auth.ts --json report.json --min-coverage 90

An auth module exports by default an object with functions that return headers. caller() is required: a user who can do
everything. expired(), forbidden() and otherTenant() are optional; each enables further checks.

Exit codes:
  0  no findings, or only those of --baseline
  1  findings
  2  the check could not run: it reached nothing, or was interrupted
  3  no findings, but the run is incomplete: its time was up, or it reached less than --min-coverage`;

export async function run(
  args: readonly string[],
  work?: Work,
  surroundings: Surroundings = { stdout: process.stdout, stderr: process.stderr, directory: process.cwd() },
): Promise<number> {
  const { stdout, stderr } = surroundings;
  const program = withOptions(new Command('contract-check'))
    .description('Compares an HTTP server with its OpenAPI document and reports the differences.')
    .version(packageFile.version)
    .addHelpText('after', help)
    .showHelpAfterError('See contract-check --help.')
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .exitOverride();
  try {
    const flags = program.parse(args, { from: 'user' }).opts<Flags>();
    return await execute(flags, work ?? (await import('./check.ts')), surroundings);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.same : exitCodes.couldNotRun;
    await write(stderr, `${failure(error)}\n`);
    return exitCodes.couldNotRun;
  }
}

async function execute(flags: Flags, work: Work, surroundings: Surroundings): Promise<number> {
  const { stdout, stderr, directory } = surroundings;
  const baseline = flags.baseline === undefined ? undefined : resolve(directory, flags.baseline);
  if (flags.updateBaseline && baseline === undefined)
    throw new CannotRun('--update-baseline requires the file to write: --baseline FILE.');
  const accepted = flags.updateBaseline || baseline === undefined ? [] : await acceptedIn(baseline);
  const options = await optionsOf(flags, directory);
  if (flags.plan) {
    await write(stdout, renderPlan(await work.planOf(options)));
    return exitCodes.same;
  }
  const progress = progressLine(stderr);
  const secrets: Secret[] = [];
  const interruption = new AbortController();
  const interrupt = () => {
    // A second signal exits immediately.
    if (interruption.signal.aborted) process.exit(exitCodes.couldNotRun);
    interruption.abort();
  };
  // What nothing else catches ends the run like a signal: what it created is deleted, and the report is written.
  const failed = (error: unknown) => {
    stderr.write(`${failure(withoutSecrets(error, secrets))}\n`);
    interruption.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt).on('uncaughtException', failed);
  try {
    const report = await work.check({
      ...options,
      signal: interruption.signal,
      onProgress: (state) => progress.update(state),
      onPlan: (entries) => void stderr.write(`${planSummary(entries)} --plan lists them.\n`),
      onSecret: (secret) => secrets.push(secret),
    });
    progress.clear();
    const isInterrupted = report.stopped?.reason === 'interrupted';
    if (flags.updateBaseline && baseline !== undefined && !isInterrupted)
      return await update(report, baseline, secrets, surroundings);
    return await conclude(withoutAccepted(report, accepted, secrets), flags, secrets, surroundings);
  } catch (error) {
    throw withoutSecrets(error, secrets);
  } finally {
    progress.clear();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt).off('uncaughtException', failed);
  }
}

async function update(
  report: Report,
  baseline: string,
  secrets: readonly Secret[],
  { stdout }: Surroundings,
): Promise<number> {
  if (!isComplete(report))
    throw new CannotRun(
      'The run is incomplete, so the baseline was not written. Allow more time, or lower --min-coverage.',
    );
  const open = await acceptAll(report, baseline, secrets);
  const next = open === 0 ? '' : ` ${counted(open, 'entry', 'entries')} of it must still say why: fill in "reason".`;
  await write(stdout, `${fileOf(baseline)} accepts ${counted(report.findings.length, 'finding')}.${next}\n`);
  return exitCodes.same;
}

async function conclude(
  report: Report,
  { json, sarif, junit }: Flags,
  secrets: readonly Secret[],
  { stdout, stderr, directory }: Surroundings,
): Promise<number> {
  // If standard output is a report for programs, the one for the user goes to standard error.
  const stream = [json, sarif, junit].includes('-') ? stderr : stdout;
  // Node.js considers NO_COLOR and FORCE_COLOR.
  const presentation = { secrets, color: styleText('red', 'text', { stream }) !== 'text' };
  const outputs = [
    { file: json, render: renderJson },
    { file: sarif, render: renderSarif },
    { file: junit, render: renderJunit },
  ];
  const files = outputs.map(async ({ file, render }) => {
    if (file === '-') await write(stdout, render(report, presentation));
    else if (file !== undefined)
      await required(
        () => store(resolve(directory, file), render(report, presentation)),
        `The report ${file} cannot be written: `,
      );
  });
  // One that cannot be written does not keep the others.
  const results = await Promise.allSettled(files);
  await write(stream, renderTerminal(report, presentation));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  if (['interrupted', 'failed'].includes(report.stopped?.reason ?? '')) return exitCodes.couldNotRun;
  if (report.findings.length > 0) return exitCodes.drift;
  return isComplete(report) ? exitCodes.same : exitCodes.incomplete;
}

async function store(file: string, content: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}

function write(stream: Stream, content: string): Promise<void> {
  return new Promise((done) => {
    stream.write(content, () => done());
  });
}

function withoutSecrets(error: unknown, secrets: readonly Secret[]): unknown {
  if (!(error instanceof Error)) return error;
  const mask = new Mask(secrets);
  error.message = mask.text(error.message);
  error.stack = mask.text(error.stack ?? '');
  return error;
}

/** One sentence, or the stack trace with DEBUG. */
function failure(error: unknown): string {
  if (process.env.DEBUG !== undefined && error instanceof Error) return error.stack ?? error.message;
  if (error instanceof CannotRun) return `contract-check: ${error.message}`;
  return `contract-check: ${String(error)} This is a bug in contract-check. Set DEBUG=1 to print the stack trace.`;
}
