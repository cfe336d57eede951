import { afterAll, describe } from 'vitest';
import { startBrowser } from '../../../../../scripts/test/browser.ts';
import { administrationTests } from '../../../test/console/administration.ts';
import { browserTests } from '../../../test/console/browser.ts';
import { consoleFirm } from '../../../test/console/firm.ts';
import { readingTests } from '../../../test/console/reading.ts';
import { safetyTests } from '../../../test/console/safety.ts';
import { signInTests } from '../../../test/console/sign-in.ts';
import { workTests } from '../../../test/console/work.ts';

// One server and one browser for all subjects.
const [firm, browser] = [await consoleFirm(), await startBrowser()];
afterAll(() => browser.close());

describe('signing in', () => signInTests(firm));
describe('pages and forms', () => safetyTests(firm));
describe('pages', () => readingTests(firm));
describe('forms', () => workTests(firm));
describe('administrators', () => administrationTests(firm));
describe('in a browser', () => browserTests(browser, firm));
