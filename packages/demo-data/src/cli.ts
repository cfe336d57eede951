import { prepareProcess, runProgram } from '@financial-automation/server/main/command-line';

prepareProcess();
const { program } = await import('./program.ts');
await runProgram(program);
