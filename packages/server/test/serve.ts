import { type Running, serve } from '../src/main/main.ts';
import { atEnd } from './at-end.ts';
import { type Environment, processEnvironment } from './process.ts';

/**
 * Serves in this process, on a separate database for this file, with these settings of the command. Call it at the top level of
 * the test file; it stops after the file's last test.
 */
export async function serveForFile(settings: Environment = {}): Promise<Running> {
  const running = await serve({ ...(await processEnvironment()), LOG_LEVEL: 'silent', ...settings });
  atEnd(() => running.stop());
  return running;
}
