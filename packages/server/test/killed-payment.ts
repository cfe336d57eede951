import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import '../src/app/handlers.ts';
import { Directory } from '../src/admission/directory.ts';
import { readConfig } from '../src/app/read-config.ts';
import { transact } from '../src/entity/transact.ts';
import { findAttempt } from '../src/modules/billing/pay/attempt.ts';
import { followUp } from '../src/modules/billing/pay/reconcile.ts';
import { Vault } from '../src/platform/auth/vault.ts';
import type { PaymentOrder, PaymentProgress } from '../src/platform/payments/processor.ts';
import { SandboxProcessor } from '../src/platform/payments/sandbox.ts';
import { databaseOf } from '../src/platform/process/config.ts';
import { openStore } from '../src/platform/store/store.ts';

/**
 * Follows up an attempt to pay in a process that kills itself before or after a step at the processor:
 * `killed-payment.ts <tenant> <attempt> <step> <before or after>`.
 */
const [tenantName = '', id = '', fatalStep, when] = process.argv.slice(2);

class FatalSandbox extends SandboxProcessor {
  override capture(order: PaymentOrder): Promise<PaymentProgress> {
    return fatal('capture', () => super.capture(order));
  }

  override cancel(order: PaymentOrder): Promise<PaymentProgress> {
    return fatal('cancel', () => super.cancel(order));
  }

  override refund(order: PaymentOrder): Promise<PaymentProgress> {
    return fatal('refund', () => super.refund(order));
  }
}

async function fatal(step: string, call: () => Promise<PaymentProgress>): Promise<PaymentProgress> {
  if (step === fatalStep && when === 'before') await die();
  const progress = await call();
  if (step === fatalStep) await die();
  return progress;
}

async function die(): Promise<void> {
  process.kill(process.pid, 'SIGKILL');
  // The signal arrives asynchronously.
  await pause(60_000);
}

const config = readConfig(process.env);
const store = await openStore(databaseOf(config));
const tenant = await new Directory(store).tenant(tenantName);
if (tenant === undefined) throw new Error(`The tenant ${tenantName} does not exist.`);
const attempt = await store.read(tenant.id, (session) => findAttempt(session, tenant.id, id));
if (attempt === undefined) throw new Error(`The attempt ${id} does not exist.`);
const origin = { tenant, caller: undefined, operation: 'test', requestId: 'test', vault: new Vault(config.masterKey) };
await followUp(
  {
    processor: new FatalSandbox(store),
    tenant,
    write: (work) => transact(store, origin, work),
    log: pino({ level: 'silent' }),
  },
  attempt,
);
await store.close();
