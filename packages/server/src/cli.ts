import { prepareProcess } from './command-line.ts';

prepareProcess();
await import('./program.ts');
