/** Loads the installed client as CommonJS, and calls a service with it. */
const assert = require('node:assert/strict');
const { createClient } = require('@financial-automation/client');
const { verifyWebhook } = require('@financial-automation/client/webhooks');

const fetch = async () => Response.json({ name: 'Harbor' });
const options = {
  baseUrl: 'http://127.0.0.1',
  tenant: 'hartwell',
  accessToken: async () => ({ access_token: 'a' }),
  fetch,
};
createClient(options)
  .getClient({ path: { id: '1' } })
  .then(({ body }) => assert.deepEqual(body, { name: 'Harbor' }));
assert.throws(() => verifyWebhook({ headers: {}, body: '' }, 'whsec_AAAA'));
