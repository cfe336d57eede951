/** A server that stands for one that a reader has, with its contract. It can be made to violate it. */
import { once } from 'node:events';
import { createServer } from 'node:http';

export const ownContract = `openapi: 3.1.0
info: { title: Weather, version: '1' }
paths:
  /stations:
    get:
      operationId: listStations
      responses:
        '200':
          description: All stations.
          content:
            application/json:
              schema:
                type: array
                items:
                  type: object
                  required: [name, degrees]
                  additionalProperties: false
                  properties: { name: { type: string }, degrees: { type: number } }
`;

export async function ownServer(): Promise<{ address: string; breakContract(): void; stop(): void }> {
  let name: string | number = 'Ben Nevis';
  const server = createServer(({ method, url }, response) => {
    response.setHeader('Content-Type', 'application/json');
    const isKnown = url === '/stations';
    if (isKnown && method !== 'GET') response.setHeader('Allow', 'GET');
    response.statusCode = !isKnown ? 404 : method === 'GET' ? 200 : 405;
    response.end(
      JSON.stringify(response.statusCode === 200 ? [{ name, degrees: -3.5 }] : { status: response.statusCode }),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('The server listens on no port.');
  return {
    address: `http://127.0.0.1:${bound.port}`,
    breakContract: () => {
      name = 7;
    },
    stop: () => void server.close().closeAllConnections(),
  };
}
