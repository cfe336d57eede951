import { lockDirectory } from '../src/platform/store/lock.ts';

/** A process that locks a directory, reports it, and holds the lock until it is killed. */
const [directory = ''] = process.argv.slice(2);
try {
  lockDirectory(directory);
  console.log('locked');
  setInterval(() => {}, 60_000);
} catch (error) {
  console.log(error instanceof Error ? error.message : error);
}
