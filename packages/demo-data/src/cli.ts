import { prepareProcess, runProgram } from '@financial-automation/server/program';

prepareProcess();
const { program } = await import('./program.ts');
await runProgram(program);
