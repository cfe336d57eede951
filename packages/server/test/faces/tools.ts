/** Small tools of tests and measurements, which load nothing else. */
export { freePort, portOf } from '../free-port.ts';
export { withReads } from '../with-reads.ts';
