/** Runs the installed bridge on a file, up to where it needs a service. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const program = 'node_modules/.bin/fa-bridge';
assert.match(execFileSync(program, ['import', '--help'], { encoding: 'utf8' }), /xero-invoices/);
writeFileSync('contacts.csv', '*ContactName,PhoneNumber\n"Cedar, Ferry & Co.",(503) 555-0142\n');
const env = { ...process.env, API_URL: 'http://127.0.0.1:9', API_TENANT: 'hartwell', API_KEY: 'key' };
const asked = spawnSync(program, ['import', 'xero-contacts', 'contacts.csv'], { env, encoding: 'utf8' });
assert.equal(asked.status, 2, asked.stderr);
assert.match(asked.stderr, /Add --calling-code/);
writeFileSync('half.xml', '<Document><BkToCstmrStmt>');
const half = spawnSync(program, ['bank', 'half.xml'], { env, encoding: 'utf8' });
assert.equal(half.status, 2, half.stderr);
assert.match(half.stderr, /not complete XML/);
