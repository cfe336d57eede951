import { prepareProcess } from './main/command-line.ts';

prepareProcess();
await import('./main/program.ts');
