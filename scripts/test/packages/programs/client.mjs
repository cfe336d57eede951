/** Calls a service with the installed client, and verifies a webhook. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createClient, orThrow } from '@financial-automation/client';
import { verifyWebhook } from '@financial-automation/client/webhooks';

const service = createServer(({ url, headers }, response) => {
  const isToken = url === '/v1/auth/token';
  assert.equal(headers.authorization, isToken ? undefined : 'Bearer token');
  response.setHeader('Content-Type', 'application/json');
  response.end(
    JSON.stringify(isToken ? { access_token: 'token', token_type: 'Bearer', expires_in: 900 } : { name: 'Harbor' }),
  );
}).listen(0, '127.0.0.1');
await once(service, 'listening');
const baseUrl = `http://127.0.0.1:${service.address().port}`;
const api = createClient({ baseUrl, tenant: 'hartwell', apiKey: 'key' });
assert.deepEqual(await orThrow(api.getClient({ path: { id: '1' } })), { name: 'Harbor' });
service.closeAllConnections();
service.close();

const secret = Buffer.from('a secret of at least 24 bytes').toString('base64');
const body = JSON.stringify({ entityType: 'Client', operation: 'CREATE' });
const time = Math.floor(Date.now() / 1000);
const signature = createHmac('sha256', Buffer.from(secret, 'base64')).update(`1.${time}.${body}`).digest('base64');
const headers = { 'webhook-id': '1', 'webhook-timestamp': String(time), 'webhook-signature': `v1,${signature}` };
assert.equal(verifyWebhook({ headers, body }, `whsec_${secret}`).entityType, 'Client');
