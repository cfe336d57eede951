#!/usr/bin/env node
/**
 * Runs the check on the servers that others wrote, once for each of their drifts, and says which it finds. A drift is found by
 * what is not found on the correct server. Exits with 1 where the correct server is accused.
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { checkOne, type Suite, suites } from '../test/independent/independent.ts';

const [chosen, ...names] = process.argv.slice(2);

if (process.send !== undefined) process.on('message', (job: { suite: Suite; drift?: string }) => void work(job));
else process.exit(await runAll());

async function work({ suite, drift }: { suite: Suite; drift?: string }): Promise<void> {
  const { findings } = await checkOne(suite, drift);
  process.send?.(findings.map(({ check, operation, cause }) => ({ check, cause: `${operation} ${cause}` })));
}

async function runAll(): Promise<number> {
  if (chosen !== undefined && !(chosen in suites)) {
    console.error(
      `There is no suite ${chosen}: say ${Object.keys(suites).join(' or ')}, and names of its drifts, or nothing.`,
    );
    return 2;
  }
  let isClean = true;
  for (const suite of Object.keys(suites) as Suite[]) {
    if (chosen !== undefined && chosen !== suite) continue;
    const known = new Set((await asked({ suite })).map(({ cause }) => cause));
    isClean &&= known.size === 0;
    console.log(`${suite}, correct: ${known.size === 0 ? 'no finding' : [...known].join(', ')}`);
    const drifts = suites[suite].drifts.filter(({ name }) => names.length === 0 || names.includes(name));
    const missed: string[] = [];
    let done = 0;
    const waiting = [...drifts];
    const one = async () => {
      for (let drift = waiting.shift(); drift !== undefined; drift = waiting.shift()) {
        const found = (await asked({ suite, drift: drift.name })).filter(({ cause }) => !known.has(cause));
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

/** What a process of its own finds: a server that hangs takes nobody with it. */
function asked(job: { suite: Suite; drift?: string }): Promise<{ check: string; cause: string }[]> {
  return new Promise((resolve, reject) => {
    const worker = fork(fileURLToPath(import.meta.url));
    worker.once('message', (found: { check: string; cause: string }[]) => {
      worker.kill();
      resolve(found);
    });
    worker.once('exit', (code) =>
      reject(new Error(`The check of ${job.drift ?? 'the correct server'} ended with ${code}.`)),
    );
    worker.send(job);
  });
}
