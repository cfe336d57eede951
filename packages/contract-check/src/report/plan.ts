import { type Effect, effects, type PlanEntry } from '../run/report.ts';
import { visible } from './texts.ts';

const names: Readonly<Record<Effect, string>> = {
  read: 'reads',
  create: 'creates',
  'change own': 'changes of what the run created',
  'change existing': 'changes of what was there before',
  irreversible: 'cannot be undone',
};

/** All operations by their effect, each with what it was concluded from; those that are not called say why. */
export function renderPlan(entries: readonly PlanEntry[]): string {
  const groups = effects.flatMap((effect) => {
    const own = entries.filter((entry) => entry.effect === effect);
    if (own.length === 0) return [];
    const lines = own.map(({ method, path, operation, why, skipped }) => {
      const address = `${method} ${path}`;
      const reason = skipped === undefined ? why : `${skipped}: ${why}`;
      const parts = [address, ...(operation === address ? [] : [operation]), `(${reason})`];
      return `  ${skipped === undefined ? '✓' : '–'} ${visible(parts.join('  '))}`;
    });
    return [[names[effect], ...lines].join('\n')];
  });
  return `${[...groups, planSummary(entries)].join('\n\n')}\n`;
}

/** One line: `Plan: 12 reads, 3 creates; not called: 2 needs --disposable.` */
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
  return `Plan: ${parts.length === 0 ? 'nothing to call' : parts.join(', ')}${rest}.`;
}
