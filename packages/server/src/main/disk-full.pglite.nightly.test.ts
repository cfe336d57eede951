import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { processEnvironment, runCli, startServer } from '../../test/process.ts';
import { fillDisk, smallDisk } from '../../test/small-disk.ts';
import { wire } from '../../test/wire.ts';

const json = { 'Content-Type': 'application/json' };

test('a full disk loses no data, is reported as 503, and writes succeed again once there is space', async (context) => {
  const environment = await processEnvironment();
  await runCli(environment, 'tenant', 'create', 'hartwell');
  const { out } = await runCli(environment, 'api-key', 'create', 'hartwell', 'crm', '--roles', 'CLNT_R,CLNT_C');
  const disk = await smallDisk(context, environment.DATA_DIR ?? '', 64);
  const server = await startServer({ ...environment, DATA_DIR: disk.folder }, disk.through);
  const filler = join('/proc', String(server.pid), 'root', disk.folder, 'filler');

  const body = JSON.stringify({ apiKey: out.trim() });
  const exchanged = await wire(server.address, { method: 'POST', path: '/v1/auth/token', headers: json, body });
  const { access_token: token } = exchanged.json as { access_token: string };
  const headers = { ...json, Authorization: `Bearer ${token}`, Tenant: 'hartwell' };
  const post = (path: string, body: object) =>
    wire(server.address, { method: 'POST', path, headers, body: JSON.stringify(body) });
  const acknowledged: string[] = [];
  let number = 0;
  const onboard = async () => {
    number += 1;
    const response = await post('/api/v1/clients/v1/onboard', { name: `Client ${number}`, address: {} });
    if (response.status === 201) acknowledged.push((response.json as { clientId: string }).clientId);
    return response;
  };

  for (const left of [0, 300_000]) {
    expect(await onboard()).toMatchObject({ status: 201 });
    fillDisk(filler, left);
    for (let rejected = 0; rejected < 20; ) {
      const response = await onboard();
      if (response.status === 201) continue;
      const detail = expect.stringMatching(/^The disk of the database is full/);
      expect(response).toMatchObject({ status: 503, json: { code: 'SERVICE_UNAVAILABLE', detail } });
      rejected += 1;
    }
    expect(await wire(server.address, { path: '/healthz' })).toMatchObject({ status: 200 });
    rmSync(filler);
    await expect.poll(async () => (await onboard()).status).toBe(201);
    expect(await wire(server.address, { path: '/readyz' })).toMatchObject({ status: 200 });
  }
  const listed = await post('/gql/v1/clients', { pageSize: 1000, includeTotal: true });
  const { data, total } = listed.json as { data: { id: string }[]; total: number };
  expect(total).toBe(data.length);
  const present = new Set(data.map((client) => client.id));
  expect(acknowledged.filter((id) => !present.has(id))).toEqual([]);
});
