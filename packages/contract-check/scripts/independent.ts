#!/usr/bin/env node
/**
 * Checks the servers by other authors, once for each of their drifts. A drift is found if the check reports a cause
 * that it does not report for the correct server. With `--every 4`, each fourth drift is tested, and with `--probes 2`, few
 * values of each constraint are sent. Another `--seed` sends other values. Exits with 1 if a correct server has a finding.
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../../../scripts/options.ts';
import { checkOne, type Suite, suites } from '../test/independent/independent.ts';

const { values, positionals } = readOptions({
  options: {
    every: { type: 'string', default: '1' },
    probes: { type: 'string', default: '400' },
    seed: { type: 'string', default: '1' },
  },
  allowPositionals: true,
});
const [chosen, ...names] = positionals;
/** Both processes get the options of the command. */
const options = { probes: Number(values.probes), seed: Number(values.seed) };

if (process.send !== undefined) process.on('message', (job: Job) => void work(job));
else process.exit(await runAll());

interface Job {
  readonly suite: Suite;
  readonly drift?: string;
}

async function work({ suite, drift }: Job): Promise<void> {
  const { findings } = await checkOne(suite, drift, options);
  process.send?.(findings.map(({ check, operation, cause }) => ({ check, cause: `${operation} ${cause}` })));
}

async function runAll(): Promise<number> {
  if (chosen !== undefined && !(chosen in suites)) {
    console.error(
      `Unknown suite ${chosen}. Pass ${Object.keys(suites).join(' or ')}, optionally followed by names of drifts, or nothing.`,
    );
    return 2;
  }
  const expected = (Object.keys(suites) as Suite[]).filter((suite) => chosen === undefined || chosen === suite);
  const known = new Set<string>(expected.flatMap((suite) => suites[suite].drifts.map(({ name }) => name)));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0) {
    console.error(
      `${chosen} has no drift ${unknown.join(', ')}: test/independent/${chosen}/drifts.mjs has their names.`,
    );
    return 2;
  }
  let isClean = true;
  for (const suite of expected) {
    const accused = await inWorker({ suite });
    if (accused === undefined) return 2;
    const causes = new Set(accused.map(({ cause }) => cause));
    isClean &&= causes.size === 0;
    console.log(`${suite}, correct: ${causes.size === 0 ? 'no finding' : [...causes].join(', ')}`);
    const drifts = suites[suite].drifts.filter(
      ({ name }, index) => index % Number(values.every) === 0 && (names.length === 0 || names.includes(name)),
    );
    const missed: string[] = [];
    let done = 0;
    const waiting = [...drifts];
    const one = async () => {
      for (let drift = waiting.shift(); drift !== undefined; drift = waiting.shift()) {
        // A check that did not finish has found nothing.
        const findings = (await inWorker({ suite, drift: drift.name })) ?? [];
        const found = findings.filter(({ cause }) => !causes.has(cause));
        done += 1;
        if (found.length === 0) missed.push(drift.name);
        const by = [...new Set(found.map(({ check }) => check))].join(', ');
        console.log(`${String(done).padStart(4)}/${drifts.length}  ${drift.name} → ${by === '' ? 'MISSED' : by}`);
      }
    };
    await Promise.all(Array.from({ length: availableParallelism() }, one));
    console.log(`\n${suite}: ${drifts.length - missed.length} of ${drifts.length} drifts are found.`);
    if (missed.length > 0) console.log(`  missed: ${missed.join(', ')}`);
  }
  return isClean ? 0 : 1;
}

interface Found {
  readonly check: string;
  readonly cause: string;
}

/**
 * The findings of a check in a separate process, so that a hanging server blocks no other check. Undefined if the
 * process ends early.
 */
function inWorker(job: Job): Promise<Found[] | undefined> {
  return new Promise((resolve) => {
    const worker = fork(fileURLToPath(import.meta.url), process.argv.slice(2));
    worker.once('message', (found: Found[]) => {
      worker.kill();
      resolve(found);
    });
    worker.once('exit', (code) => {
      if (code !== null)
        console.error(
          `The check of ${job.drift ?? `${job.suite}, correct,`} exited with ${code}; see its output above.`,
        );
      resolve(undefined);
    });
    worker.send(job);
  });
}
