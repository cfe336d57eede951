import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

/** Number of IDs whose random bytes are generated at once: generating them for each ID would cost more than the rest. */
const ids = 256;
const pool = new Uint8Array(16 * ids);
let used = ids;

/** Returns a UUID version 7. Those of one millisecond are in no order. */
export function newRequestId(): string {
  if (used === ids) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(16 * used, 16 * (used + 1));
  used += 1;
  return uuidv7({ random });
}
