/**
 * A proxy that validates responses with express-openapi-validator, and prints what it reports. The packages are those of
 * the folder in which it runs.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.cwd(), 'index.js'));
const express = require('express');
const { middleware } = require('express-openapi-validator');
const [port, apiSpec, target] = process.argv.slice(2);
/** Headers of the connection, not of the message. */
const ofConnection = ['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'expect'];
const passedOn = (headers) => Object.fromEntries([...headers].filter(([name]) => !ofConnection.includes(name)));

const app = express();
app.use(express.raw({ type: () => true, limit: '10mb' }));
app.use(
  middleware({
    apiSpec,
    // It would reject invalid requests itself, and they would show nothing about the server.
    validateRequests: false,
    validateSecurity: false,
    ignoreUndocumented: true,
    validateResponses: {
      allErrors: true,
      onError: ({ errors, message }, _body, { method, openapi }) => {
        const found = errors?.map((error) => `${error.path} ${error.message}`) ?? [message];
        for (const one of found) console.log(`VIOLATION ${method} ${openapi.openApiRoute} ${one}`);
      },
    },
  }),
);
app.use(async ({ method, originalUrl, headers, body }, response) => {
  const reply = await fetch(`${target}${originalUrl}`, {
    method,
    headers: passedOn(Object.entries(headers)),
    redirect: 'manual',
    ...(body?.length > 0 && { body }),
  });
  response.status(reply.status).set(passedOn(reply.headers));
  const bytes = Buffer.from(await reply.arrayBuffer());
  try {
    response.json(JSON.parse(bytes.toString()));
  } catch {
    response.end(bytes);
  }
});
// A method that the contract does not declare, or a server that closed the connection.
app.use((error, _request, response, _next) => response.status(error.status ?? 502).end());
app.listen(Number(port), '127.0.0.1');
