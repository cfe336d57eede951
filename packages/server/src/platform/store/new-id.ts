import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { databaseClock } from '../database-clock.ts';

/** Number of IDs whose random bytes are generated at once: generating them for each ID would cost more than the rest. */
const ids = 256;
const pool = new Uint8Array(16 * ids);
let used = ids;
let milliseconds = 0;
let sequence = 0;

/**
 * Returns a UUID version 7 that is greater than all previous ones of this process: ascending IDs are in the order of
 * creation.
 */
export function newId(): string {
  if (used === ids) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(16 * used, 16 * (used + 1));
  used += 1;
  const now = databaseClock.now();
  if (now > milliseconds) {
    milliseconds = now;
    // Less than half of the maximum, so that incrementing within a millisecond never overflows.
    sequence = new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1;
  } else {
    sequence += 1;
  }
  return uuidv7({ msecs: milliseconds, seq: sequence, random });
}
