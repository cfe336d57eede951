import { readConfig } from '../src/app/read-config.ts';
import { type Running, serve } from '../src/main/main.ts';
import { atEnd } from './at-end.ts';
import { type Filling, filledDatabase, masterKey } from './filled-database.ts';
import { type Environment, processEnvironment } from './process.ts';

/**
 * Serves in this process, on a separate database for this file, with these settings of the command. Call it at the top level of
 * the test file; it stops after the file's last test.
 *
 * @param filled what the database has; nothing by default
 */
export async function serveForFile(settings: Environment = {}, filled?: Filling): Promise<Running> {
  const secret = { MASTER_KEY: masterKey.toString('base64'), PAYMENT_PROCESSOR: 'sandbox' };
  const environment = await (filled === undefined
    ? processEnvironment()
    : processEnvironment((DATA_DIR) => filledDatabase(filled, readConfig({ ...secret, ...settings, DATA_DIR }))));
  const running = await serve({
    ...environment,
    ...(filled !== undefined && secret),
    LOG_LEVEL: 'silent',
    ...settings,
  });
  atEnd(() => running.stop());
  return running;
}
