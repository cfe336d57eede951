import { pasteable } from '../platform/operator-command.ts';
import { counted } from './counted.ts';
import { withOperator } from './run-commands.ts';

export interface MoveOptions {
  readonly to?: string;
  readonly cancel: boolean;
  readonly removeOld: boolean;
}

/** Runs the command of the options, and prints what happens to standard error. */
export async function runMove(tenant: string, { to, cancel, removeOld }: MoveOptions): Promise<void> {
  if ([to !== undefined, cancel, removeOld].filter(Boolean).length !== 1)
    throw new Error('Specify one of --to, --cancel and --remove-old.');
  await withOperator(
    async (run) => {
      if (cancel) {
        await run('tenant move --cancel', { tenant });
        console.log(`The tenant ${tenant} stays where it is, and the copy was removed.`);
      } else if (removeOld) {
        const { cells } = await run('tenant move --remove-old', { tenant });
        console.log(`The old copy of the tenant ${tenant} was removed from ${cells.join(', ')}.`);
      } else if (to !== undefined) {
        const { from, rows, stoppedFor, steps } = await run('tenant move', { tenant, to });
        console.log(
          stoppedFor === null
            ? `The tenant ${tenant} is in ${to}: an earlier run of the command had moved it.`
            : `The tenant ${tenant} moved from ${from} to ${to}: ${counted(rows, 'row was', 'rows were')} copied and compared. Its writes were stopped for ${stoppedFor} ms.`,
        );
        const times = Object.entries(steps).map(([step, time]) => `${step} ${(time / 1_000).toFixed(1)} s`);
        if (times.length > 0) console.log(`Steps: ${times.join(', ')}.`);
        console.log(`${from} keeps the old copy, which is not served. To remove it, run:`);
        console.log(`  ${pasteable(`operator tenant move ${tenant} --remove-old`)}`);
      }
    },
    { isLong: true },
  );
}
