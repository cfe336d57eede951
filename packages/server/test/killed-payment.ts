import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import '../src/app/handlers.ts';
import { Directory } from '../src/admission/directory.ts';
import { readConfig } from '../src/app/read-config.ts';
import { transact } from '../src/entity/transact.ts';
import type { UnitOfWork } from '../src/entity/unit-of-work.ts';
import { findAttempt } from '../src/modules/billing/pay/attempt.ts';
import { followUp } from '../src/modules/billing/pay/reconcile.ts';
import { Vault } from '../src/platform/auth/vault.ts';
import type { PaymentOrder, PaymentProgress } from '../src/platform/payments/processor.ts';
import { SandboxProcessor } from '../src/platform/payments/sandbox.ts';
import { databaseOf } from '../src/platform/process/config.ts';
import { openStore, type Store } from '../src/platform/store/store.ts';
import { patientLimits } from './patient-limits.ts';

/**
 * Follows up attempts to pay at the same time, in a process that kills itself once each of them has come before or after a step at the
 * processor: `killed-payment.ts <tenant> [<attempt> <step> <before or after>]…`. With the step `none`, it ends.
 */
const [tenantName = '', ...words] = process.argv.slice(2);
const fates = Array.from({ length: Math.ceil(words.length / 3) }, (_, index) => words.slice(3 * index, 3 * index + 3));
let arrived = 0;

class FatalSandbox extends SandboxProcessor {
  readonly #step: string | undefined;
  readonly #when: string | undefined;

  constructor(of: Store, step: string | undefined, when: string | undefined) {
    super(of);
    this.#step = step;
    this.#when = when;
  }

  override capture(order: PaymentOrder): Promise<PaymentProgress> {
    return this.#fatal('capture', () => super.capture(order));
  }

  override cancel(order: PaymentOrder): Promise<PaymentProgress> {
    return this.#fatal('cancel', () => super.cancel(order));
  }

  override refund(order: PaymentOrder): Promise<PaymentProgress> {
    return this.#fatal('refund', () => super.refund(order));
  }

  async #fatal(step: string, call: () => Promise<PaymentProgress>): Promise<PaymentProgress> {
    if (step === this.#step && this.#when === 'before') await die();
    const progress = await call();
    if (step === this.#step) await die();
    return progress;
  }
}

async function die(): Promise<void> {
  arrived += 1;
  if (arrived === fates.length) process.kill(process.pid, 'SIGKILL');
  // The signal arrives asynchronously.
  await pause(60_000);
}

const config = readConfig(process.env);
const store = await openStore({ ...databaseOf(config), limits: patientLimits });
const tenant = await new Directory(store).tenant(tenantName);
if (tenant === undefined) throw new Error(`The tenant ${tenantName} does not exist.`);
const origin = { tenant, caller: undefined, operation: 'test', requestId: 'test', vault: new Vault(config.masterKeys) };
const common = {
  tenant,
  write: <Result>(work: (unit: UnitOfWork) => Promise<Result>) => transact(store, origin, work),
  log: pino({ level: 'silent' }),
};
await Promise.all(
  fates.map(async ([id = '', step, when]) => {
    const attempt = await store.read(tenant.id, (session) => findAttempt(session, tenant.id, id));
    if (attempt === undefined) throw new Error(`The attempt ${id} does not exist.`);
    await followUp({ ...common, processor: new FatalSandbox(store, step, when) }, attempt);
  }),
);
await store.close();
