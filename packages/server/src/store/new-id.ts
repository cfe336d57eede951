import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

/** Random bytes for this many ids are drawn at once: drawing them for each costs more than all the rest. */
const ids = 256;
const pool = new Uint8Array(16 * ids);
let used = ids;
let milliseconds = 0;
let sequence = 0;

/** A UUID version 7, greater than every one that this process made before: ascending ids are the order of creation. */
export function newId(): string {
  if (used === ids) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(16 * used, 16 * (used + 1));
  used += 1;
  const now = Date.now();
  if (now > milliseconds) {
    milliseconds = now;
    // Below half of what fits, so that counting up within a millisecond never ends.
    sequence = new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1;
  } else {
    sequence += 1;
  }
  return uuidv7({ msecs: milliseconds, seq: sequence, random });
}
