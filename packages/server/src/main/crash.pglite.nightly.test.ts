import { expect, test } from 'vitest';
import { processEnvironment, runCli, startServer } from '../../test/process.ts';
import { wire } from '../../test/wire.ts';

const environment = await processEnvironment();
const json = { 'Content-Type': 'application/json' };
/** How often the server is killed. `KILL_ROUNDS=20` takes minutes. */
const crashes = Number(process.env.KILL_ROUNDS ?? 1);
/** Number of onboardings that succeed before the process is killed during further ones. */
const confirmedBefore = 12;

test('a server that is killed repeatedly loses no client that it has confirmed', async () => {
  await runCli(environment, 'tenant', 'create', 'hartwell');
  const { out } = await runCli(environment, 'api-key', 'create', 'hartwell', 'crm', '--roles', 'CLNT_R,CLNT_C');
  const apiKey = out.trim();
  const acknowledged: string[] = [];
  for (let crash = 0; crash <= crashes; crash++) {
    const server = await startServer(environment);
    const exchanged = await wire(server.address, {
      method: 'POST',
      path: '/v1/auth/token',
      headers: json,
      body: JSON.stringify({ apiKey }),
    });
    const { access_token: token } = exchanged.json as { access_token: string };
    const headers = { ...json, Authorization: `Bearer ${token}`, Tenant: 'hartwell' };
    const post = (path: string, body: object) =>
      wire(server.address, { method: 'POST', path, headers, body: JSON.stringify(body) });

    const found = await post('/gql/v1/clients', { pageSize: 1000 });
    const present = (found.json as { data: { id: string }[] }).data.map((client) => client.id);
    expect(acknowledged.filter((id) => !present.includes(id))).toEqual([]);
    if (crash === crashes) {
      server.kill('SIGTERM');
      expect(await server.finished).toMatchObject({ code: 0 });
      break;
    }

    const enough = Promise.withResolvers<void>();
    let confirmed = 0;
    const onboard = async (name: string): Promise<void> => {
      const response = await post('/api/v1/clients/v1/onboard', {
        name,
        address: {},
        preferredContact: { lastName: name },
      });
      if (response.status !== 201) return;
      acknowledged.push((response.json as { clientId: string }).clientId);
      confirmed += 1;
      if (confirmed === confirmedBefore) enough.resolve();
    };
    // Four callers at a time, until the process has exited.
    const callers = [1, 2, 3, 4].map(async (caller) => {
      for (let number = 1; ; number++) await onboard(`Client ${crash} ${caller} ${number}`);
    });
    await enough.promise;
    server.kill('SIGKILL');
    await Promise.allSettled(callers);
    await server.finished;
  }
  expect(acknowledged.length).toBeGreaterThanOrEqual(crashes * confirmedBefore);
});
