import { prepareProcess, runProgram } from './main/command-line.ts';

prepareProcess();
const { program } = await import('./main/program.ts');
await runProgram(program);
