/** Lists the operations whose handlers are still to be written. They answer 501. */
import { handlers, notImplemented } from '../src/resources/handlers.ts';

const waiting = Object.entries(handlers).filter(([, handler]) => handler === notImplemented);
for (const [id] of waiting) console.log(id);
console.log(`${waiting.length} of ${Object.keys(handlers).length} operations are still to be written.`);
