import { Counter, Gauge, type Registry } from 'prom-client';
import { standbyOutcomes } from '../store/standbys/index.ts';
import type { Store } from '../store/store.ts';

/** Reports which standbys are used, how far they are behind, and where reads ran. */
export function measureStandbys(standbys: NonNullable<Store['standbys']>, registry: Registry): void {
  const registers = [registry];
  const reads = new Counter({
    name: 'standby_reads_total',
    help: 'Reads that may run on a standby: served by one, or by the primary because the standby was behind, failed, or all were left out.',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of standbyOutcomes) reads.inc({ outcome }, 0);
  standbys.observe((outcome) => reads.inc({ outcome }));
  new Gauge({
    name: 'standby_available',
    help: '1 for a standby that is used for reads, 0 for one that is left out.',
    labelNames: ['standby'],
    registers,
    collect() {
      for (const { number, leftOut } of standbys.states) this.set({ standby: number }, leftOut === undefined ? 1 : 0);
    },
  });
  new Gauge({
    name: 'standby_behind_bytes',
    help: 'How far a standby was behind the primary at the last probe, in bytes of the write-ahead log.',
    labelNames: ['standby'],
    registers,
    collect() {
      for (const { number, behind } of standbys.states) this.set({ standby: number }, behind);
    },
  });
}
