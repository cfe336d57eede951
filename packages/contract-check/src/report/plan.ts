/** The plan of a run, and what it left on the server. */
import type { Effect, Left, PlanEntry, Stopped } from './report.ts';
import { counted, visible } from './texts.ts';

const names: Readonly<Record<Effect, string>> = {
  read: 'reads',
  create: 'creates',
  'change own': 'changes of what the run created',
  'change existing': 'changes of what was there before',
  irreversible: 'cannot be undone',
};
const effects = Object.keys(names) as Effect[];

/** All operations by their effect; those that are not called say why. */
export function renderPlan(entries: readonly PlanEntry[]): string {
  const groups = effects.flatMap((effect) => {
    const own = entries.filter((entry) => entry.effect === effect);
    if (own.length === 0) return [];
    const lines = own.map(({ method, path, operation, skipped }) => {
      const address = `${method} ${path}`;
      const parts = [address, ...(operation === address ? [] : [operation]), ...(skipped ? [`(${skipped})`] : [])];
      return `  ${skipped === undefined ? '✓' : '–'} ${visible(parts.join('  '))}`;
    });
    return [[names[effect], ...lines].join('\n')];
  });
  return `${[...groups, planSummary(entries)].join('\n\n')}\n`;
}

/** One line: `Plan: 12 reads, 3 creates; not called: 2 (needs --disposable)`. */
export function planSummary(entries: readonly PlanEntry[]): string {
  const called = entries.filter(({ skipped }) => skipped === undefined);
  const parts = effects.flatMap((effect) => {
    const { length } = called.filter((entry) => entry.effect === effect);
    return length === 0 ? [] : [`${length} ${names[effect]}`];
  });
  const skipped = [...Map.groupBy(entries, (entry) => entry.skipped)].flatMap(([reason, list]) =>
    reason === undefined ? [] : [`${list.length} ${reason}`],
  );
  const rest = skipped.length === 0 ? '' : `; not called: ${skipped.join(', ')}`;
  return `Plan: ${parts.length === 0 ? 'nothing to call' : parts.join(', ')}${rest}. --plan lists them.`;
}

const maxTargets = 20;

/** What remains on the server, one line each. */
export function leftLines({ created, changed }: Left): string[] {
  const ofCreated = created.map(({ operation, targets, unidentified }) => {
    const shown = targets.slice(0, maxTargets).join(', ');
    const more = targets.length > maxTargets ? `, … ${targets.length - maxTargets} more` : '';
    const known = shown === '' ? [] : [`created ${shown}${more}`];
    const unknown = `may have created more in ${counted(unidentified, 'call')}, whose responses do not identify it`;
    return `${operation} ${[...known, ...(unidentified === 0 ? [] : [unknown])].join('; ')}`;
  });
  const ofChanged = changed.map(
    ({ operation, target, isRestored }) =>
      `${operation} changed ${target}, ${isRestored ? 'which was put back' : 'which was NOT put back'}`,
  );
  return [...ofCreated, ...ofChanged];
}

/** Why a run ended early, and what it did not do. */
export function stoppedText({ reason, missedPhases, unchecked }: Stopped): string {
  const why = {
    time: 'The time limit was reached',
    interrupted: 'The run was interrupted',
    dead: 'The server stopped responding',
  }[reason];
  const phases = missedPhases.length === 0 ? '' : ` Not completed: ${missedPhases.join('; ')}.`;
  return `${why}. The input of ${counted(unchecked.length, 'operation')} was not checked completely.${phases}`;
}
