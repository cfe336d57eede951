import { expect, test } from 'vitest';
import type { MoveStep } from './move-tenant.ts';
import {
  callers,
  cells,
  interruptedMove,
  leaseEnds,
  loads,
  second,
  secondCells,
  upsert,
  verify,
  whereIs,
} from './testing.ts';

test('tenant move › is whole in one place if it is interrupted at any step, and continues', async () => {
  const load = loads();
  for (const step of ['watch', 'copy', 'catch up', 'verify', 'stop', 'switch'] satisfies MoveStep[]) {
    await expect(interruptedMove('west', step)).rejects.toThrow('interrupted');
    await leaseEnds();
    await expect
      .poll(async () => (await callers.beta('/api/v1/records', upsert(step, step), second.address)).status)
      .toBe(200);
  }
  await expect(interruptedMove('west', 'finish')).rejects.toThrow('interrupted');
  // Whoever calls next finishes it, without the command.
  await expect
    .poll(async () => (await callers.beta('/api/v1/records', upsert('done', 'done'), second.address)).status)
    .toBe(200);
  await Promise.all([cells.look(), secondCells.look()]);
  expect(await whereIs('beta')).toEqual(['east false old copy; the tenant moved to west', 'west true ']);
  await verify(load);
});
