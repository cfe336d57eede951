import { setTimeout as pause } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { Session } from '../../../platform/store/store.ts';
import { Messages } from './load.ts';

test('Messages reads an event again after a moment, so that nothing is sent of a person who was erased meanwhile', async () => {
  let now = 1_000;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  const id = '019a0000-0000-7000-8000-00000000000a';
  const stored = { id, entityType: 'ContactInfo', operation: 'CREATE', entityId: id, sequence: 1, isImport: false };
  const at = '2026-10-01T09:30:00.000Z';
  let email = 'mallory@example.com';
  const all = vi.fn(async () => [
    { ...stored, occurredAt: at, recordedAt: at, data: JSON.stringify({ email }), changedFields: null },
  ]);
  const messages = new Messages();
  const bodyAt = async (time: number) => {
    now = time;
    // The cache reads the time once in a millisecond.
    await pause(5);
    const found = await messages.read({ all } as unknown as Session, { id: 1, name: 'firm' }, [id]);
    return found.get(id)?.body.toString();
  };
  expect(await bodyAt(1_000)).toContain('mallory');
  email = 'erased@example.com';
  expect(await bodyAt(2_000)).toContain('mallory');
  expect(all).toHaveBeenCalledTimes(1);
  expect(await bodyAt(3_500)).toContain('erased');
  clock.mockRestore();
});
