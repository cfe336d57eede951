/** Processor time and memory of processes, as `/proc` counts them on Linux. */
import { readdirSync, readFileSync } from 'node:fs';

/** Ticks of the processor clock in a second. */
const ticksPerSecond = 100;

/** Processor time of processes, user and system, in seconds. Those that have ended count as nothing. */
export function usedBy(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const fields = fieldsOf(pid);
    return sum + (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksPerSecond;
  }, 0);
}

/** Processor time of all processes of a PostgreSQL server, also of those that have ended meanwhile, in seconds. */
export function usedByServer(server: number): number {
  const ended = fieldsOf(server);
  const ofEnded = (Number(ended[13] ?? 0) + Number(ended[14] ?? 0)) / ticksPerSecond;
  return usedBy(allProcesses().filter((pid) => pid === server || parentOf(pid) === server)) + ofEnded;
}

/** Processor time of the server of a database, to which at least one connection is open. */
export function usedByDatabase(url: string): number {
  const [backend] = backendsOf(url);
  if (backend === undefined) throw new Error('The database has no processes on this machine.');
  return usedByServer(parentOf(backend));
}

/** The processes that serve the connections to a database. */
export function backendsOf(url: string): number[] {
  const database = ` ${new URL(url).pathname.slice(1)} `;
  return allProcesses().filter((pid) => {
    const title = read(`/proc/${pid}/cmdline`) ?? '';
    return title.startsWith('postgres: ') && title.includes(database);
  });
}

/** Resident memory of a process in MB, and the part of it that no file and no other process shares. */
export function memoryOf(pid: number): { readonly resident: number; readonly own: number } {
  const status = read(`/proc/${pid}/status`) ?? '';
  const megabytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) / 1024;
  return { resident: megabytes('VmRSS'), own: megabytes('RssAnon') };
}

function allProcesses(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function parentOf(pid: number): number {
  return Number(fieldsOf(pid)[1]);
}

/** The fields after the name of the program, which can contain spaces. */
function fieldsOf(pid: number): string[] {
  return read(`/proc/${pid}/stat`)?.split(') ')[1]?.split(' ') ?? [];
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
