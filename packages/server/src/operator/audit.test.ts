import { expect, test } from 'vitest';
import { sharedService } from '../../test/service.ts';
import { exportAudit } from './audit.ts';

const { service, tenant, call } = await sharedService();
const all = { tenant: tenant.name, from: null, to: null, after: null };

test('audit export › returns each row of the tenant once, in the order in which they were written, and by instants', async () => {
  const names = Array.from({ length: 600 }, (_, index) => `Group ${index + 1}`);
  for (let first = 0; first < names.length; first += 100) {
    const records = names
      .slice(first, first + 100)
      .map((name) => ({ type: 'ClientGroup', systemRef: name, attributes: { name } }));
    expect(await call('POST', '/api/v1/records', { records })).toMatchObject({ status: 200 });
  }
  const first = await exportAudit({ service }, all);
  expect(first.next).not.toBeNull();
  const second = await exportAudit({ service }, { ...all, after: first.next });
  expect(second.next).toBeNull();
  const rows: { id: string; entityType: string; after: { name: string } }[] = [...first.lines, ...second.lines].map(
    (line) => JSON.parse(line),
  );
  expect(rows.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).toSorted());
  const groups = rows.filter(({ entityType }) => entityType === 'ClientGroup').map(({ after }) => after.name);
  expect(groups).toEqual(names);
  expect(await exportAudit({ service }, { ...all, to: '2020-01-01T00:00:00Z' })).toEqual({ lines: [], next: null });
  expect((await exportAudit({ service }, { ...all, from: '2020-01-01T00:00:00Z' })).lines).toEqual(first.lines);
});

test('audit export › rejects an unknown tenant and an invalid instant', async () => {
  await expect(exportAudit({ service }, { ...all, tenant: 'nobody' })).rejects.toThrow(/nobody/);
  await expect(exportAudit({ service }, { ...all, from: 'May' })).rejects.toThrow('"May" is not an instant.');
  const reversed = { from: '2026-11-01T00:00:00Z', to: '2026-10-01T00:00:00Z' };
  await expect(exportAudit({ service }, { ...all, ...reversed })).rejects.toThrow('--from must be before --to.');
});
