/** Starts the installed MCP server, and lists its tools. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const child = spawn('node_modules/.bin/financial-automation-mcp', ['--tags', 'clients'], {
  env: { ...process.env, BASE_URL: 'http://127.0.0.1:9', TENANT: 'hartwell', ACCESS_TOKEN: 'token' },
  stdio: ['pipe', 'pipe', 'inherit'],
});
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
const clientInfo = { name: 'trial', version: '1' };
await send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
await send({ method: 'notifications/initialized' });
const { tools } = await send({ id: 2, method: 'tools/list' });
assert.deepEqual(
  tools.map(({ name }) => name),
  ['find_operations', 'describe', 'read'],
);
const found = await send({ id: 3, method: 'tools/call', params: { name: 'find_operations', arguments: {} } });
assert.match(found.content[0].text, /^searchClients: /m);
child.kill();

async function send(message) {
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  if (message.id === undefined) return undefined;
  const { value, done } = await lines.next();
  assert.ok(!done, 'The MCP server ended.');
  return JSON.parse(value).result;
}
