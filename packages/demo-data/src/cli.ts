import { prepareProcess } from '../../server/src/main/command-line.ts';

prepareProcess();
await import('./program.ts');
