/**
 * Checks a service with the installed contract check, which finds nothing, and the same service with a contract that it
 * violates. On a Node that is too old, the check says so in one line.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const service = createServer(({ method }, response) => {
  response.statusCode = method === 'GET' ? 200 : 405;
  response.setHeader('Content-Type', 'application/json');
  response.end(method === 'GET' ? '{"name":"Harbor"}' : '{}');
}).listen(0, '127.0.0.1');
await once(service, 'listening');
const url = `http://127.0.0.1:${service.address().port}`;

const [major] = process.versions.node.split('.');
if (Number(major) < 22) {
  const { code, output } = await check('string');
  assert.equal(code, 2);
  assert.match(output, /^contract-check requires Node [\d.]+ or later\. This is Node [\d.]+\.\n$/);
  await assert.rejects(import('@financial-automation/contract-check'), /requires Node/);
} else {
  assert.match((await check('string')).output, /no findings/i);
  assert.equal((await check('integer')).code, 1);
  assert.equal(typeof (await import('@financial-automation/contract-check')).check, 'function');
}
service.closeAllConnections();
service.close();

async function check(type) {
  const schema = { type: 'object', required: ['name'], properties: { name: { type } } };
  const responses = { 200: { description: 'The name.', content: { 'application/json': { schema } } } };
  const get = { operationId: 'getName', responses };
  const contract = { openapi: '3.1.0', info: { title: 'Names', version: '1' }, paths: { '/name': { get } } };
  await writeFile('contract.json', JSON.stringify(contract));
  const child = spawn('node_modules/.bin/contract-check', ['--spec', 'contract.json', '--url', url]);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, output: stdout + stderr };
}
