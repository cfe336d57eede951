import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { sourceFile } from '../platform/source-file.ts';

/** What every program does before it loads the rest of its modules. */
export function prepareProcess(): void {
  // Files that this process writes are readable by its user only.
  process.umask(0o077);
  // Node hides deprecation warnings of dependencies, but treats bundled dependencies as our own code.
  process.noDeprecation = true;
  // Compiling the sources takes a second at each start. The compiled code is cached next to the dependencies.
  enableCompileCache(
    fileURLToPath(new URL('../../../../node_modules/.cache/node', sourceFile('main/command-line.ts'))),
  );
}

function isClosedPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

/** Runs the command of this process. A failure is printed as a sentence. */
export async function runProgram(program: Command): Promise<void> {
  // Whoever reads the output, such as `head`, may have seen enough.
  process.stdout.on('error', (error) => {
    if (!isClosedPipe(error)) throw error;
  });
  try {
    await program.parseAsync();
  } catch (error) {
    if (!isClosedPipe(error)) console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
    // Everything is closed by now. A handle that is still open must not keep the process alive.
    setTimeout(() => process.exit(), 1_000).unref();
  }
}
