import { prepareProcess, runProgram } from '../../server/src/main/command-line.ts';

prepareProcess();
const { program } = await import('./program.ts');
await runProgram(program);
