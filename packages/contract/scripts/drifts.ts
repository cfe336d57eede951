#!/usr/bin/env node
/**
 * Switches on every drift of the suites, one at a time, and looks whether the check finds it; and checks the correct servers
 * under many seeds, where it must find nothing. Exits with 1 where either is not so.
 */
import { parseArgs } from 'node:util';
import type { Finding } from '../src/finding/finding.ts';
import type { Drift } from '../test/drifts/drift.ts';
import { checkCorrect, judge, type Verdict } from '../test/drifts/run.ts';
import { serviceDrifts } from '../test/drifts/service/drifts.ts';
import { type OpenStage, openServiceStage, openWorkshopStage } from '../test/drifts/stages.ts';
import { workshopDrifts } from '../test/drifts/workshop/drifts.ts';
import { type DriftRow, driftTable, writeDriftTable } from './drift-table.ts';

const { values: options } = parseArgs({
  options: {
    suite: { type: 'string', default: '' },
    only: { type: 'string', default: '' },
    part: { type: 'string', default: '' },
    except: { type: 'string', default: ' ' },
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '20' },
    table: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const rows: DriftRow[] = [];
let failed = false;

await run('workshop', workshopDrifts, openWorkshopStage);
await run('service', serviceDrifts, () => openServiceStage(process.env.DRIFTS_DATABASE_URL));

const missed = rows.filter(({ checks }) => checks.length === 0);
console.log(`\n${rows.length - missed.length} of ${rows.length} drifts are caught.`);
for (const { suite, operation, what } of missed) console.log(`  missed: ${suite} ${operation}: ${what}`);
process.exit(failed || missed.length > 0 ? 1 : 0);

async function run<World>(
  suite: string,
  drifts: readonly Drift<World>[],
  open: () => Promise<OpenStage<World>>,
): Promise<void> {
  if (options.suite !== '' && options.suite !== suite) return;
  const stage = await open();
  try {
    const known = new Set<string>();
    let wrong = 0;
    for (let seed = 1; seed <= Number(options.seeds); seed += 1) {
      for (const { operation, cause } of await checkSeed(suite, stage, seed)) {
        known.add(`${operation} ${cause}`);
        wrong += 1;
      }
    }
    const wanted = drifts
      .filter(({ name, expect }) => name.includes(options.only) && expect?.join().startsWith(options.part) !== false)
      .filter(({ operation }) => !options.except.split(',').includes(operation));
    const mine: DriftRow[] = [];
    for (const [index, drift] of wanted.entries()) {
      const verdict = await judge(stage, drift, Number(options.seed), known);
      mine.push(rowOf(suite, verdict));
      console.log(`${`${index + 1}`.padStart(4)}/${wanted.length} ${lineOf(verdict)}`);
    }
    rows.push(...mine);
    const correct = { seeds: Number(options.seeds), findings: wrong };
    if (options.table) console.log(`\n${driftTable(suite, mine, correct)}`);
    if (options.write) await writeDriftTable(suite, mine, correct);
  } finally {
    await stage.close();
  }
}

async function checkSeed<World>(suite: string, stage: OpenStage<World>, seed: number): Promise<readonly Finding[]> {
  const { findings, requests, milliseconds } = await checkCorrect(stage, seed);
  console.log(
    `${suite}, correct, seed ${seed}: ${findings.length} findings, ${requests} requests, ${seconds(milliseconds)}`,
  );
  for (const { operation, check, title, actual } of findings)
    console.log(`  ${operation} ${check}: ${title} (${actual})`);
  if (findings.length > 0) failed = true;
  return findings;
}

function rowOf<World>(suite: string, { drift, findings }: Verdict<World>): DriftRow {
  const { operation, kind, what, expect } = drift;
  return { suite, part: expect?.[0] ?? 'any', operation, kind, what, checks: checksOf(findings) };
}

function lineOf<World>({ drift, findings, isReached, milliseconds }: Verdict<World>): string {
  const by = checksOf(findings).join(', ') || `MISSED${isReached ? '' : ' (no call of the operation succeeded)'}`;
  const isElsewhere =
    findings.length > 0 && !findings.some(({ category }) => drift.expect?.includes(category) !== false);
  return `${seconds(milliseconds).padStart(7)}  ${drift.name} [${drift.kind}] → ${by}${isElsewhere ? ' (another part)' : ''}`;
}

function checksOf(findings: Verdict<unknown>['findings']): string[] {
  return [...new Set(findings.map(({ check }) => check))];
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
