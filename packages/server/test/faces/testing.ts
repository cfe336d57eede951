/** What tests of other packages use, within vitest. */
export { createDataDir, testDatabase } from '../database.ts';
export { serveForFile } from '../serve.ts';
export { testService } from '../service.ts';
export { pay } from '../workflow-partners.ts';
