import { spawn } from 'node:child_process';

export interface Ended {
  readonly code: number;
  /** Empty if the output was shown. */
  readonly output: string;
}

interface Options {
  readonly isShown?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  /** Where it runs; by default, where this process does. */
  readonly directory?: string;
}

/** Runs a command to its end, and shows its output or returns it. */
export function run(
  [program = '', ...words]: readonly string[],
  { isShown = false, environment = {}, directory }: Options = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...environment };
    const child = spawn(program, words, { stdio: isShown ? 'inherit' : 'pipe', env, cwd: directory });
    const output: string[] = [];
    child.stdout?.on('data', (chunk) => output.push(String(chunk)));
    child.stderr?.on('data', (chunk) => output.push(String(chunk)));
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ code: exitCode ?? 1, output: output.join('') }));
  });
}
