/** Processor time and memory of processes, as `/proc` counts them on Linux. */
import { readdirSync, readFileSync } from 'node:fs';

/** Ticks of the processor clock in a second. */
const ticksPerSecond = 100;

/** Processor time of a process, user and system, in seconds. */
export function usedBy(pid: number): number {
  return secondsIn(pid, 11, 12);
}

/** Processor time of a process in milliseconds, from which short works can be told. */
export function millisecondsUsedBy(pid: number): number {
  return Number(read(`/proc/${pid}/schedstat`).split(' ')[0]) / 1e6;
}

/** Processor time of all processes of a PostgreSQL server, also of those that have ended meanwhile, in seconds. */
export function usedByDatabase(url: string): number {
  const database = ` ${new URL(url).pathname.slice(1)} `;
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const backend = all.find((pid) => {
    const title = read(`/proc/${pid}/cmdline`);
    return title.startsWith('postgres: ') && title.includes(database);
  });
  if (backend === undefined) throw new Error('The database has no processes on this machine.');
  const server = parentOf(backend);
  const running = all.filter((pid) => pid === server || parentOf(pid) === server);
  return running.reduce((sum, pid) => sum + usedBy(pid), secondsIn(server, 13, 14));
}

/** Resident memory of a process, in MB. */
export function memoryOf(pid: number): number {
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? Number.NaN) / 1024);
}

function parentOf(pid: number): number {
  return Number(fieldsOf(pid)[1]);
}

function secondsIn(pid: number, ...positions: readonly number[]): number {
  const fields = fieldsOf(pid);
  return positions.reduce((sum, position) => sum + Number(fields[position] ?? 0), 0) / ticksPerSecond;
}

/** The fields after the name of the program, which can contain spaces. */
function fieldsOf(pid: number): string[] {
  return read(`/proc/${pid}/stat`).split(') ')[1]?.split(' ') ?? [];
}

/** A process that has ended has no files, and counts as nothing. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
