import type { WriteStream } from 'node:tty';
import type { Progress } from './operator.ts';

/** How often a line is shown, in milliseconds: over the one before in a terminal, below it elsewhere. */
const intervals = { terminal: 200, elsewhere: 10_000 };

/** Shows how far work is, from time to time. */
export function showProgress(output: Pick<WriteStream, 'write' | 'isTTY'>): {
  readonly show: (progress: Progress) => void;
  readonly end: () => void;
} {
  const interval = output.isTTY ? intervals.terminal : intervals.elsewhere;
  let shownAt = -Infinity;
  let isOpen = false;
  return {
    show(progress) {
      if (performance.now() - shownAt < interval) return;
      shownAt = performance.now();
      isOpen = output.isTTY;
      output.write(output.isTTY ? `\r\x1b[K${textOf(progress)}` : `${textOf(progress)}\n`);
    },
    end() {
      if (isOpen) output.write('\r\x1b[K');
      isOpen = false;
    },
  };
}

function textOf({ step, done, total }: Progress): string {
  const shown = done.toLocaleString('en-US');
  if (total === undefined) return `${step}: ${shown}`;
  return `${step}: ${shown} of ${total.toLocaleString('en-US')} rows (${Math.floor((100 * done) / Math.max(1, total))} %)`;
}
