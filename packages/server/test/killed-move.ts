import { setTimeout as pause } from 'node:timers/promises';
import { readConfig } from '../src/app/read-config.ts';
import { moveTenant } from '../src/operator/moves/move-tenant.ts';
import type { Operator } from '../src/operator/operator.ts';
import { onDatabase, unlimited } from '../src/operator/run-commands.ts';

/** Moves a tenant in a process that kills itself before a step: `killed-move.ts <tenant> <database> <step>`. */
const [tenant = '', to = '', fatalStep] = process.argv.slice(2);

const move = (operator: Operator) =>
  moveTenant(operator, { tenant, to }, async (step) => {
    if (step !== fatalStep) return;
    process.kill(process.pid, 'SIGKILL');
    // The signal arrives asynchronously.
    await pause(60_000);
  });
// With the limits of the command.
await onDatabase(readConfig(process.env), move, unlimited);
