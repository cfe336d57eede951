/** The command: parses the options, runs the check, writes the reports, and sets the exit code. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import packageFile from '../package.json' with { type: 'json' };
import { CannotRun } from './cannot-run.ts';
import { type Flags, type Outputs, type Settings, settingsOf } from './config.ts';
import { type Category, categories } from './finding/finding.ts';
import type { CheckOptions } from './options.ts';
import { acceptAll, acceptedIn, withoutAccepted } from './report/accepted.ts';
import { maskText } from './report/mask.ts';
import { planSummary, renderPlan } from './report/plan.ts';
import { fileOf, isComplete } from './report/presented.ts';
import { coverageKindNames, type MinCoverage, type PlanEntry, type Report } from './report/report.ts';
import { ProgressLine, renderTerminal, renderVerdict } from './report/terminal.ts';
import { counted } from './report/texts.ts';

export const exitCodes = { same: 0, drift: 1, couldNotRun: 2, incomplete: 3 } as const;

/** The modules that the command uses. Loaded on demand, so that `--help` and invalid options respond quickly. */
export interface Work {
  check(options: CheckOptions): Promise<Report>;
  planOf(options: CheckOptions): Promise<readonly PlanEntry[]>;
}

const modules: Work = {
  check: async (options) => (await import('./check.ts')).check(options),
  planOf: async (options) => (await import('./check.ts')).planOf(options),
};

/** The environment of the command. */
export interface Surroundings {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly directory: string;
}

type Stream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

type CommandFlags = Flags & { readonly color: boolean; readonly plan?: boolean; readonly updateBaseline?: boolean };

const examples = `
Examples:
  Compare a server with its contract:
    contract-check --spec openapi.yaml --url http://localhost:3000

  Sign in with a module, and write the report as JSON:
    contract-check --spec openapi.yaml --url https://test.example.com --auth auth.ts --json report.json

  Print what a run would call, and then call only operations with "clients" in their path, for 30 seconds:
    contract-check --spec openapi.yaml --only '*clients*' --plan
    contract-check --spec openapi.yaml --only '*clients*' --exclude 'DELETE *' --time 30

  Use the whole API of a server whose data may be lost:
    contract-check --spec openapi.yaml --url http://localhost:3000 --disposable

  Repeat the requests of an earlier run:
    contract-check --spec openapi.yaml --url http://localhost:3000 --seed 42

  Run in a pipeline, and fail below a minimum coverage:
    contract-check --spec openapi.yaml --junit junit.xml --sarif contract.sarif --min-coverage 90 --min-coverage total=60

An auth module exports by default an object with functions that return headers. caller() is required: a user who can do
everything. expired(), forbidden() and otherTenant() are optional; each enables further checks.

Exit codes:
  0  no findings, or only those of --baseline
  1  findings
  2  the check could not run: it reached nothing, or was interrupted
  3  no findings, but the run is incomplete: its time was up, or it reached less than --min-coverage`;

/** Runs the command, and returns its exit code. */
export async function run(
  args: readonly string[],
  work: Work = modules,
  surroundings: Surroundings = { stdout: process.stdout, stderr: process.stderr, directory: process.cwd() },
): Promise<number> {
  let code: number = exitCodes.same;
  const program = programOf(surroundings, async (flags) => {
    code = await execute(flags, work, surroundings);
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.same : exitCodes.couldNotRun;
    await write(surroundings.stderr, `${failure(error)}\n`);
    return exitCodes.couldNotRun;
  }
}

function programOf({ stdout, stderr }: Surroundings, action: (flags: CommandFlags) => Promise<void>): Command {
  return new Command('contract-check')
    .description('Compares an HTTP server with its OpenAPI document and reports the differences.')
    .version(packageFile.version)
    .option('--spec <file|url>', 'path or URL of the OpenAPI 3.0 or 3.1 document')
    .option('--url <url>', "URL of the server (default: the document's first server)", address)
    .option('--auth <module>', 'module that signs in')
    .option('--header <name: value>', 'header to send with every request; repeatable', header)
    .option('--only <pattern...>', 'call only these: operation ids, "METHOD /path", paths or tags; * matches any text')
    .option('--exclude <pattern...>', 'never call these, for any purpose; same patterns as --only')
    .option('--focus <pattern...>', 'check only these; others can be called to create the data that they need')
    .option('--plan', 'print what the run would call, and send nothing')
    .option('--disposable', 'allow changes to data that the run did not create, and calls that cannot be undone')
    .option(
      '--checks <category...>',
      `categories to check: ${categories.map(hyphenated).join(', ')} (default: all)`,
      category,
    )
    .option('--seed <number>', 'send the same requests as an earlier run with this seed', wholeNumber)
    .option('--probes <number>', 'maximum number of invalid and boundary values per parameter or body', count)
    .option('--time <seconds>', 'maximum duration of the run, with cleaning up', positiveNumber)
    .option('--timeout <seconds>', 'maximum time for a response', positiveNumber)
    .option('--concurrency <number>', 'maximum number of concurrent requests', count)
    .option('--allow-unimplemented', 'do not report operations that return 501')
    .option(
      '--min-coverage <[kind=]percent>',
      `minimum of what must be reached: ${coverageKindNames.join(', ')} (default: operations=50); repeatable`,
      minimum,
    )
    .option('--baseline <file>', 'file of accepted findings, each with a reason, which do not count')
    .option('--update-baseline', 'write all findings of this run to the file of --baseline')
    .option('--junit <file>', 'write the report as JUnit XML')
    .option('--json <file>', 'write the report as JSON; - is standard output')
    .option('--sarif <file>', 'write the report as SARIF 2.1.0')
    .option(
      '--config <file>',
      'configuration file (default: contract-check.config.ts, .js or .json); flags override it',
    )
    .option('--quiet', 'print only the last line')
    .option('--no-color', 'print without colors')
    .addHelpText('after', examples)
    .showHelpAfterError('See contract-check --help.')
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .exitOverride()
    .action(action);
}

async function execute(
  { color, plan, updateBaseline = false, ...flags }: CommandFlags,
  work: Work,
  surroundings: Surroundings,
): Promise<number> {
  const { stderr, directory } = surroundings;
  const settings = await settingsOf(flags, directory);
  const baseline = settings.baseline === undefined ? undefined : resolve(directory, settings.baseline);
  if (updateBaseline && baseline === undefined)
    throw new CannotRun('--update-baseline requires the file to write: --baseline FILE.');
  const accepted = updateBaseline || baseline === undefined ? [] : await acceptedIn(baseline);
  if (plan === true) {
    await write(surroundings.stdout, renderPlan(await work.planOf(settings.options)));
    return exitCodes.same;
  }
  const progress = settings.quiet ? undefined : new ProgressLine(stderr);
  const ending = (report: Report) => conclude(report, settings, color, surroundings);
  const interruption = new AbortController();
  const interrupt = () => {
    // A second signal exits immediately.
    if (interruption.signal.aborted) process.exit(exitCodes.couldNotRun);
    interruption.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  const options: CheckOptions = {
    ...settings.options,
    signal: interruption.signal,
    onProgress: (state) => progress?.update(state),
    onPlan: (entries) => {
      if (!settings.quiet) stderr.write(`${planSummary(entries)}\n`);
    },
  };
  try {
    const all = await work.check(options);
    progress?.clear();
    if (updateBaseline && baseline !== undefined && !interruption.signal.aborted)
      return await update(all, baseline, settings, surroundings);
    const report = withoutAccepted(all, accepted);
    if (!interruption.signal.aborted) return await ending(report);
    await ending({ ...report, notices: [...report.notices, interrupted] });
    return exitCodes.couldNotRun;
  } catch (error) {
    throw withoutSecrets(error, settings);
  } finally {
    progress?.clear();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

/** Accepts what was found, for later runs. */
async function update(
  report: Report,
  baseline: string,
  { secrets }: Settings,
  { stdout, directory }: Surroundings,
): Promise<number> {
  if (!isComplete(report))
    throw new CannotRun(
      'The run is incomplete, so the baseline was not written. Allow more time, or lower --min-coverage.',
    );
  const open = await acceptAll(report, baseline, secrets);
  const file = fileOf(baseline, directory);
  const next = open === 0 ? '' : ` ${counted(open, 'entry', 'entries')} of it must still say why: fill in "reason".`;
  await write(stdout, `${file} accepts ${counted(report.findings.length, 'finding')}.${next}\n`);
  return exitCodes.same;
}

const interrupted = 'The run was interrupted. The report is incomplete.';

async function conclude(
  report: Report,
  { outputs, secrets, quiet }: Settings,
  color: boolean,
  { stdout, stderr, directory }: Surroundings,
): Promise<number> {
  // If standard output is JSON, the report for the user goes to standard error.
  const stream = outputs.json === '-' ? stderr : stdout;
  const presentation = { secrets, directory, color: color && isColored(stream) };
  for (const [kind, renderer] of Object.entries(renderers)) {
    const file = outputs[kind as keyof Outputs];
    const content = file === undefined ? '' : (await renderer())(report, presentation);
    if (file === '-') await write(stdout, content);
    else if (file !== undefined) await store(resolve(directory, file), content);
  }
  await write(stream, quiet ? renderVerdict(report, presentation) : renderTerminal(report, presentation));
  if (report.findings.length > 0) return exitCodes.drift;
  return isComplete(report) ? exitCodes.same : exitCodes.incomplete;
}

/** Whether Node.js uses colors for a stream, considering NO_COLOR and FORCE_COLOR. */
function isColored(stream: Stream): boolean {
  return styleText('red', 'text', { stream }) !== 'text';
}

/** Loaded on demand. */
const renderers = {
  junit: async () => (await import('./report/junit.ts')).renderJunit,
  json: async () => (await import('./report/formats.ts')).renderJson,
  sarif: async () => (await import('./report/formats.ts')).renderSarif,
};

async function store(file: string, content: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  } catch (error) {
    throw new CannotRun(
      `The report ${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function write(stream: Stream, content: string): Promise<void> {
  return new Promise((done) => {
    stream.write(content, () => done());
  });
}

function withoutSecrets(error: unknown, { secrets }: Settings): unknown {
  if (!(error instanceof Error)) return error;
  error.message = maskText(error.message, secrets);
  error.stack = maskText(error.stack ?? '', secrets);
  return error;
}

/** One sentence, or the stack trace with DEBUG. */
function failure(error: unknown): string {
  if (process.env.DEBUG !== undefined && error instanceof Error) return error.stack ?? error.message;
  if (error instanceof CannotRun) return `contract-check: ${error.message}`;
  return `contract-check: ${String(error)} This is a bug in contract-check. Set DEBUG=1 to print the stack trace.`;
}

function address(value: string): string {
  if (/^https?:\/\//.test(value) && URL.canParse(value)) return value;
  throw new InvalidArgumentError('It must be a URL that starts with http:// or https://.');
}

/** The name of a category on the command line, where spaces would require quotes. */
function hyphenated(name: Category): string {
  return name.replaceAll(' ', '-');
}

function category(value: string, before: readonly Category[] = []): Category[] {
  const found = categories.find((one) => value === one || value === hyphenated(one));
  if (found === undefined)
    throw new InvalidArgumentError(`It must be one of ${categories.map(hyphenated).join(', ')}.`);
  return [...before, found];
}

function header(value: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, content] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([^\r\n]*)$/.exec(value) ?? [];
  if (name === undefined || content === undefined) {
    throw new InvalidArgumentError("It must be a name, a colon and a value: 'Accept-Language: en'.");
  }
  return { ...before, [name]: content };
}

/** A parser of numbers. @param expected such as `an integer`. */
function numberOf(expected: string, isFit: (number: number) => boolean) {
  return (value: string): number => {
    const number = Number(value);
    if (value.trim() !== '' && isFit(number)) return number;
    throw new InvalidArgumentError(`It must be ${expected}.`);
  };
}

const wholeNumber = numberOf('an integer', (number) => Number.isSafeInteger(number) && number >= 0);
const count = numberOf('an integer of at least 1', (number) => Number.isSafeInteger(number) && number >= 1);
const positiveNumber = numberOf('a number greater than 0', (number) => Number.isFinite(number) && number > 0);
const percentage = numberOf('a number from 0 to 100', (number) => number >= 0 && number <= 100);

/** `80`, or `constraints=80`. */
function minimum(value: string, before: MinCoverage = {}): MinCoverage {
  const [, name = 'operations', percent = ''] = /^(?:([a-z-]+)=)?(.*)$/.exec(value) ?? [];
  const kind = coverageKindNames.find((one) => one === name);
  if (kind === undefined) throw new InvalidArgumentError(`The kind must be one of ${coverageKindNames.join(', ')}.`);
  return { ...(typeof before === 'number' ? { operations: before } : before), [kind]: percentage(percent) };
}
