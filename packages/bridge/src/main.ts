#!/usr/bin/env -S node --max-semi-space-size=2 --optimize-for-size
/**
 * `fa-bridge`, with the exit codes of its help.
 *
 * The options above keep the heap small: without them, Node lets it grow to 300 MB while it reads a large file.
 */
import { Command, CommanderError } from 'commander';
import { isProblem, ProblemError } from '../../client/src/index.ts';
import { addBank } from './commands/bank-command.ts';
import { addExport } from './commands/export-command.ts';
import { addImport } from './commands/import-command.ts';
import { BridgeError } from './errors.ts';

const program = new Command('fa-bridge')
  .description(
    'Moves files of other systems and of banks into the Financial Automation API, and figures and documents out of it.',
  )
  .addHelpText(
    'afterAll',
    `
Environment variables:
  API_URL     URL of the service, such as https://api.financial-automation.example
  API_TENANT  name of your tenant
  API_KEY     API key of your tenant

Exit codes:
  0  everything is stored, or could be
  1  something is not stored, or could not be; it is in the file of what failed
  2  the command could not run, or was interrupted`,
  )
  .exitOverride()
  .showHelpAfterError('Add --help for all options.');
const stop = new AbortController();
const onInterrupt = () => stop.abort(new BridgeError('Interrupted.'));
process.once('SIGINT', onInterrupt).once('SIGTERM', onInterrupt);

addBank(program, stop.signal);
addExport(program, stop.signal);
addImport(program, stop.signal);
try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    console.error(`\n${reasonOf(error)}`);
    process.exitCode = 2;
  }
} finally {
  process.off('SIGINT', onInterrupt).off('SIGTERM', onInterrupt);
}

function reasonOf(error: unknown): string {
  const again = 'Run the same command again: what is stored already stays as it is, and nothing is stored twice.';
  if (error instanceof BridgeError) return stop.signal.aborted ? `${error.message} ${again}` : error.message;
  if (error instanceof ProblemError) {
    const { problem } = error;
    if (isProblem(problem, 'UNAUTHENTICATED')) return `The service rejects the API key. ${problem.detail}`;
    if (isProblem(problem, 'FORBIDDEN')) return `The API key lacks a role. ${problem.detail}`;
    const details = (problem.errors ?? []).map(({ pointer, detail }) => ` ${pointer ?? ''}: ${detail}`).join('');
    const reason = `${problem.detail ?? problem.title}${details} (${problem.code}, request ${problem.requestId})`;
    // Another attempt does not help if the service rejects the request as it is.
    return problem.status >= 500 || problem.status === 429 ? `${reason} ${again}` : reason;
  }
  if (
    (error instanceof TypeError && error.message === 'fetch failed') ||
    (error instanceof DOMException && error.name === 'TimeoutError')
  )
    return `The service at ${process.env.API_URL} cannot be reached: ${error.message}. ${again}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
