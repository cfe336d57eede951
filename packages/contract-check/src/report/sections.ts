/** What a report says about the run as a whole. */

import { coverageKinds, reachText, shortfallText } from '../run/report.ts';
import type { MaskedReport } from './masked.ts';
import { counted, durationText } from './texts.ts';

export interface Section {
  readonly title: string;
  readonly entries: readonly Entry[];
}

interface Entry {
  readonly text: string;
  readonly names?: readonly string[];
}

export function sectionsOf({ accepted, coverage, left, notices, operations, plan, stopped }: MaskedReport): Section[] {
  const selected = new Set(operations.map(({ id }) => id));
  const skipped = plan.filter((one) => one.skipped === 'needs --disposable' && selected.has(one.operation));
  const sections = [
    {
      title: 'Accepted',
      entries: accepted.map(({ title, reason, operation }) => ({
        text: `${title.replace(/\.$/, '')}: ${reason}`,
        names: [operation],
      })),
    },
    { title: 'Not covered', entries: gapsIn(coverage) },
    {
      title: 'Not called',
      entries:
        skipped.length === 0
          ? []
          : [
              {
                text: `${counted(skipped.length, 'operation')}, which do not count: needs --disposable. --plan says why`,
                names: skipped.map(({ operation }) => operation),
              },
            ],
    },
    { title: 'Left on the server', entries: entriesOfLeft(left) },
    { title: 'Notes', entries: notices.map((text) => ({ text })) },
    { title: 'Ended early', entries: stopped === undefined ? [] : [{ text: stoppedText(stopped) }] },
  ];
  return sections.filter(({ entries }) => entries.length > 0);
}

/** Operations that were not reached, and items of the others that were not covered, most frequent reason first. */
function gapsIn({ items }: MaskedReport['coverage']): Entry[] {
  const missed = items.filter(({ exercised }) => !exercised);
  const unreached = new Set(missed.flatMap(({ kind, operation }) => (kind === 'operations' ? [operation] : [])));
  return coverageKinds.flatMap((kind) => {
    const own = missed.filter((item) => {
      return item.kind === kind && (kind === 'operations' || !unreached.has(item.operation));
    });
    const groups = [...Map.groupBy(own, ({ reason }) => reason)];
    return groups
      .sort(([, left], [, right]) => right.length - left.length)
      .map(([reason, group]) => ({
        text: `${counted(group.length, kind.replace(/(?<=us)es$|s$/, ''), kind)}: ${reason}`,
        names: group.map(({ operation, name }) => (kind === 'operations' ? operation : `${operation} ${name}`)),
      }));
  });
}

function entriesOfLeft({ created, changed }: MaskedReport['left']): Entry[] {
  const ofCreated = created.flatMap(({ operation, targets, unidentified }): Entry[] => {
    const calls = counted(unidentified, 'call');
    const unknown = `${operation} may have created more in ${calls}, whose responses do not identify it`;
    return [
      ...(targets.length === 0 ? [] : [{ text: `${operation} created`, names: targets }]),
      ...(unidentified === 0 ? [] : [{ text: unknown }]),
    ];
  });
  const wayOf = ({ operation, isRestored }: (typeof changed)[number]) =>
    `${operation} changed, and ${isRestored ? 'put back' : 'did NOT put back'}`;
  const ofChanged = [...Map.groupBy(changed, wayOf)].map(([text, own]) => {
    return { text, names: own.map(({ target }) => target) };
  });
  return [...ofCreated, ...ofChanged];
}

const reasons = {
  time: ['time limit', 'The time limit was reached'],
  interrupted: ['interrupted', 'The run was interrupted'],
  dead: ['the server stopped responding', 'The server stopped responding'],
  failed: ['contract-check failed', 'A part of the check failed, which is a bug in contract-check'],
} as const;

function stoppedText({ reason, missedPhases, unchecked }: NonNullable<MaskedReport['stopped']>): string {
  const phases = missedPhases.length === 0 ? '' : ` Not completed: ${missedPhases.join('; ')}.`;
  return `${reasons[reason][1]}. The input of ${counted(unchecked.length, 'operation')} was not checked completely.${phases}`;
}

export function verdictOf(report: MaskedReport): string {
  const { findings, stopped, shortfall, coverage, requests, milliseconds, seed } = report;
  const count = findings.length === 0 ? 'No findings' : counted(findings.length, 'finding');
  const why = stopped === undefined ? shortfall && shortfallText(shortfall) : reasons[stopped.reason][0];
  const found = why === undefined ? count : `Incomplete (${why}): ${count}`;
  return `${found} in ${reachText(coverage)}; ${counted(requests, 'request')}, ${durationText(milliseconds)}, seed ${seed}`;
}
