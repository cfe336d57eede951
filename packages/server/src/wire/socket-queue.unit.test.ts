import { Socket } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SocketQueue } from './socket-queue.ts';

const sockets = Array.from({ length: 4 }, () => new Socket());
const owners = ['first', 'second'];

test('a queue counts each socket once, whatever is added and removed in whatever order', () => {
  const step = fc.record({
    owner: fc.constantFrom(...owners),
    socket: fc.constantFrom(...sockets),
    weight: fc.integer({ min: 1, max: 5 }),
    isAdded: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const queue = new SocketQueue();
      const model = new Map(owners.map((owner) => [owner, new Map<Socket, number>()]));
      for (const { owner, socket, weight, isAdded } of steps) {
        const owned = model.get(owner);
        expect(isAdded ? queue.add(owner, socket, weight) : queue.delete(owner, socket)).toBe(
          isAdded ? undefined : owned?.has(socket),
        );
        owned?.delete(socket);
        if (isAdded) owned?.set(socket, weight);
      }
      const sizes = owners.map((owner) => [...(model.get(owner)?.values() ?? [])].reduce((sum, one) => sum + one, 0));
      expect(owners.map((owner) => queue.sizeOf(owner))).toEqual(sizes);
      expect(queue.size).toBe(sizes.reduce((sum, one) => sum + one, 0));
      for (const owner of owners) expect(queue.oldest(owner)).toBe(model.get(owner)?.keys().next().value);
      while (queue.size > 0) expect(queue.takeOldest()).toBeInstanceOf(Socket);
      expect(queue.takeOldest()).toBeUndefined();
    }),
  );
});
