import { readFileSync } from 'node:fs';

const { scripts } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));

/** The options of Node with which `pnpm serve` and the image start the service; see "Threads and memory" in the run book. */
export const serveFlags: readonly string[] = scripts.serve.match(/--v8-pool-size.*(?= packages)/)[0].split(' ');
