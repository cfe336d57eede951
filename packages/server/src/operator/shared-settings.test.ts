import { expect, test } from 'vitest';
import { engineName } from '../../test/database.ts';
import { testService } from '../../test/service.ts';
import { keptAuditLog, withSharedSettings } from '../platform/process/shared-settings.ts';
import { listSharedSettings, setSharedSetting } from './shared-settings.ts';

const service = await testService();
const { store } = service;
const { config } = service.service;
const isPublicUrlSet = true;

if (engineName === 'postgres')
  test('setting set › a process whose settings differ from those of the database does not start, until they are changed for all', async () => {
    expect(await keptAuditLog(store)).toBe('7 years');
    const first = { ...config, auditYears: 10, isPublicUrlSet, publicUrl: 'https://api.example.com' };
    await withSharedSettings(first, store);
    expect(await listSharedSettings(service)).toEqual({
      AUDIT_LOG_YEARS: '10',
      PUBLIC_URL: 'https://api.example.com',
      PAYMENT_PROCESSOR: 'sandbox',
      S3_BUCKET: 'none',
    });
    expect(await keptAuditLog(store)).toBe('10 years');
    // What a process does not name, it has from the database.
    expect(await withSharedSettings(config, store)).toMatchObject({ publicUrl: 'https://api.example.com' });

    const others = {
      AUDIT_LOG_YEARS: { ...first, auditYears: 1 },
      PUBLIC_URL: { ...first, publicUrl: 'https://other.example.com' },
      PAYMENT_PROCESSOR: { ...first, payments: undefined },
      S3_BUCKET: { ...first, s3: { bucket: 'files', region: 'eu-west-1', endpoint: undefined } },
    };
    for (const [name, other] of Object.entries(others))
      await expect(withSharedSettings(other, store)).rejects.toThrow(
        new RegExp(
          `^${name} is \\S+ here, and \\S+ in the database, for all processes\\. Set it to \\S+, or run: .+ operator setting set ${name} '.+'$`,
        ),
      );
    expect(await keptAuditLog(store)).toBe('10 years');

    await setSharedSetting(service, { name: 'AUDIT_LOG_YEARS', value: '0' });
    // At once, also for processes that have started with another one.
    expect(await keptAuditLog(store)).toBeNull();
    await expect(withSharedSettings(first, store)).rejects.toThrow(
      /^AUDIT_LOG_YEARS is 10 here, and 0 in the database/,
    );
    const { rows } = await store.ownerStatements(
      `select subject, details from operator_log where operation = 'setting set'`,
    );
    expect(rows).toEqual([{ subject: 'AUDIT_LOG_YEARS', details: { before: '10', value: '0' } }]);
  });

if (engineName === 'pglite')
  test('the embedded database has the settings of its process', async () => {
    for (const auditYears of [10, 1]) {
      await withSharedSettings({ ...config, auditYears }, store);
      expect(await keptAuditLog(store)).toBe(auditYears === 1 ? '1 years' : '10 years');
    }
    await expect(setSharedSetting(service, { name: 'AUDIT_LOG_YEARS', value: '2' })).rejects.toThrow(/one process/);
  });

test.each([
  ['AUDIT_LOG_YEARS', '-1', /^AUDIT_LOG_YEARS must be a whole number/],
  ['PUBLIC_URL', 'https://api.example.com/', /^PUBLIC_URL must be a URL without a slash/],
  ['PAYMENT_PROCESSOR', 'cash', /^PAYMENT_PROCESSOR must be stripe, sandbox or none/],
  ['POOL_SIZE', '10', /^The setting is one of AUDIT_LOG_YEARS, PUBLIC_URL/],
])('setting set › rejects %s %s', async (name, value, says) => {
  await expect(setSharedSetting(service, { name, value })).rejects.toThrow(says);
});
