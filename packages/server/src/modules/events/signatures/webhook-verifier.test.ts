import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { atEnd } from '../../../../test/at-end.ts';
import { deliveringService } from '../../../../test/delivery.ts';
import { isNightly } from '../../../../test/nightly.ts';
import { startReceiver } from '../../../../test/receiver.ts';
import { storableTexts } from '../../../../test/storable-texts.ts';
import { rotateSecret } from './webhook-secret.ts';

/** A machine may lack Python; then these tests are listed as not run. */
const hasPython = spawnSync('python3', ['--version']).status === 0;
/** For what takes less than a millisecond, but not on a machine that has stopped for a while. */
const maxResponseMs = 60_000;
const verifier = hasPython ? startVerifier() : undefined;
const { call, groups, secret, service, start, store, subscribe, tenant } = await deliveringService();

interface Message {
  readonly secret: string;
  readonly id: string;
  readonly timestamp: number;
}
const tolerance = 300;
const now = () => Math.floor(Date.now() / 1000);

const secrets = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`);
const messages: fc.Arbitrary<Message> = fc.record({
  secret: secrets,
  id: fc.stringMatching(/^[A-Za-z0-9_-]{1,40}$/),
  timestamp: fc.integer({ min: 0, max: 253_402_300_799 }),
});
const texts = storableTexts(500);
const lines = fc.array(fc.oneof(texts, fc.constantFrom('', '\n', '\r\n', '\u2028')), { maxLength: 8 });
const payloads = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue() },
  { weight: 3, arbitrary: texts },
  { weight: 2, arbitrary: lines.map((all) => all.join('\n')) },
  { weight: 1, arbitrary: texts.map((text) => `${text} €`.repeat(80)) },
);
const known: Message = { secret: `whsec_${Buffer.alloc(32, 9).toString('base64')}`, id: 'known', timestamp: 1 };
/** Characters of a long text, which is sent many times. */
const long = isNightly ? 50_000 : 5_000;
const runs = {
  numRuns: isNightly ? 200 : 8,
  examples: ['', '\n', '\r\n\r\n', 'e\u0301 \u212B', '😀'.repeat(long), [' '.repeat(4 * long)]].map(
    (payload): [unknown, Message] => [payload, known],
  ),
};

test.runIf(hasPython)('generateTestSignature › creates signatures that a verifier in Python accepts', async () => {
  await fc.assert(
    fc.asyncProperty(payloads, messages, async (payload, message) => {
      const { status, body } = await generate(payload, message);
      expect(status).toBe(200);
      const { headers } = body;
      expect(await verifies(message, headers, bodyOf(payload))).toBe(true);
      for (const [changed, bytes] of changesOf(message, payload)) {
        const sent = { ...headers, 'webhook-id': changed.id, 'webhook-timestamp': String(changed.timestamp) };
        expect(await verifies(changed, sent, bytes)).toBe(false);
      }
    }),
    runs,
  );
});

test.runIf(hasPython)('validateTestSignature › accepts signatures that Python creates', async () => {
  await fc.assert(
    fc.asyncProperty(payloads, messages, async (payload, message) => {
      const signature = await sign(message, bodyOf(payload));
      expect(await validate(payload, message, signature)).toMatchObject({ status: 200, body: { valid: true } });
      const mismatch = { status: 200, body: { valid: false, reason: 'SIGNATURE_MISMATCH' } };
      for (const [changed, bytes] of changesOf(message, payload)) {
        const sent = bytes.equals(bodyOf(payload)) ? payload : bytes.toString();
        expect(await validate(sent, changed, signature)).toMatchObject(mismatch);
      }
    }),
    runs,
  );
});

test.runIf(hasPython)('both accept a header with the signatures of two secrets, by either of them', async () => {
  await fc.assert(
    fc.asyncProperty(payloads, messages, secrets, secrets, async (payload, message, next, other) => {
      fc.pre(new Set([message.secret, next, other]).size === 3);
      const body = bodyOf(payload);
      const both = [message.secret, next].map((secret) => ({ ...message, secret }));
      const own = await Promise.all(both.map(async (one) => (await generate(payload, one)).body.signature));
      const theirs = await Promise.all(both.map((one) => sign(one, body)));
      const headers = {
        'webhook-id': message.id,
        'webhook-timestamp': String(message.timestamp),
        'webhook-signature': own.join(' '),
      };
      for (const one of both) {
        expect(await verifies(one, headers, body)).toBe(true);
        expect((await validate(payload, one, theirs.join(' '))).body.valid).toBe(true);
      }
      expect(await verifies({ ...message, secret: other }, headers, body)).toBe(false);
      expect((await validate(payload, { ...message, secret: other }, theirs.join(' '))).body.valid).toBe(false);
    }),
    { numRuns: isNightly ? 50 : 6 },
  );
});

test.runIf(hasPython)('Python accepts a timestamp within five minutes, and none beyond', async () => {
  const message = { ...known, timestamp: now() };
  const { headers } = (await generate({}, message)).body;
  for (const seconds of [-tolerance, 0, tolerance])
    expect(await verifies(message, headers, Buffer.from('{}'), message.timestamp + seconds)).toBe(true);
  for (const seconds of [-tolerance - 1, tolerance + 1])
    expect(await verifies(message, headers, Buffer.from('{}'), message.timestamp + seconds)).toBe(false);
});

test.runIf(hasPython)('Python verifies delivered events, by both secrets while they are rotated', async () => {
  const receiver = await startReceiver();
  await subscribe(receiver);
  await start();
  const before = await secret();
  await groups('Before');
  await expect.poll(() => receiver.arrivals.length).toBe(1);
  const rotated = await store.write(tenant.id, (transaction) =>
    rotateSecret(transaction, service.vault, tenant.id, 24),
  );
  await groups('Zoë \u2028 😀');
  await expect.poll(() => receiver.arrivals.length).toBe(2);
  const accepted = receiver.arrivals.map(async ({ headers, body }) => {
    const secrets = [before, rotated.secret, known.secret];
    return Promise.all(secrets.map((secret) => verifies({ secret }, headers, Buffer.from(body), now())));
  });
  expect(await Promise.all(accepted)).toEqual([
    [true, false, false],
    [true, true, false],
  ]);
});

function generate(payload: unknown, message: Message) {
  return call<{ headers: Record<string, string>; signature: string }>('POST', '/api/v1/webhook/test/generate', {
    payload,
    ...message,
  });
}

function validate(payload: unknown, message: Message, signature: string) {
  return call<{ valid: boolean }>('POST', '/api/v1/webhook/test/validate', { payload, ...message, signature });
}

/** The body that a payload stands for: a text byte for byte, everything else as compact JSON. */
function bodyOf(payload: unknown): Buffer {
  return Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
}

/** Messages that differ in one thing each. */
function changesOf(message: Message, payload: unknown): [Message, Buffer][] {
  const body = bodyOf(payload);
  const other = Buffer.from(message.secret.slice(6), 'base64');
  other[0] = (other[0] ?? 0) ^ 1;
  return [
    [message, changedByte(body)],
    [{ ...message, secret: `whsec_${other.toString('base64')}` }, body],
    [{ ...message, timestamp: message.timestamp === 0 ? 1 : message.timestamp - 1 }, body],
    [{ ...message, id: `${message.id}x` }, body],
  ];
}

/** Another byte that is text, too, in place of the first one that is ASCII; one more where there is none. */
function changedByte(body: Buffer): Buffer {
  const changed = Buffer.from(body);
  const at = changed.findIndex((byte) => byte > 1 && byte < 0x80);
  if (at === -1) return Buffer.concat([body, Buffer.from(' ')]);
  changed[at] = (changed[at] ?? 0) ^ 1;
  return changed;
}

async function verifies(
  { secret }: Pick<Message, 'secret'>,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: Buffer,
  at = Number(headers['webhook-timestamp']),
): Promise<boolean> {
  const { error } = await ask({ do: 'verify', secret, headers, body: body.toString('base64'), now: at });
  return error === null;
}

async function sign(message: Message, body: Buffer): Promise<string> {
  return String((await ask({ do: 'sign', ...message, body: body.toString('base64') })).signature);
}

async function ask(question: object): Promise<Record<string, unknown>> {
  if (verifier === undefined) throw new Error('This machine has no Python.');
  return verifier(question);
}

/**
 * The verifier as a process. It responds to one line after the other, in their order. Once it has ended or does not respond, every question
 * fails at once: a property that fails is tried again many times, each of which would wait.
 */
function startVerifier(): (question: object) => Promise<Record<string, unknown>> {
  const script = fileURLToPath(new URL('../../../../test/verify-webhook.py', import.meta.url));
  const child = spawn('python3', [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  atEnd(() => child.kill());
  const waiting: PromiseWithResolvers<Record<string, unknown>>[] = [];
  let failure: Error | undefined;
  const fail = (reason: string) => {
    failure ??= new Error(`The verifier ${reason}.`);
    for (const { reject } of waiting.splice(0)) reject(failure);
  };
  createInterface(child.stdout).on('line', (line) => waiting.shift()?.resolve(JSON.parse(line)));
  child.once('error', ({ message }) => fail(`did not start: ${message}`));
  child.once('close', (code, signal) => fail(`ended with ${signal ?? code}`));
  // What was written to a process that has ended. It is reported when the process closes.
  child.stdin.on('error', () => undefined);
  return async (question) => {
    if (failure !== undefined) throw failure;
    const answer = Promise.withResolvers<Record<string, unknown>>();
    const timer = setTimeout(() => fail(`did not respond within ${maxResponseMs} ms`), maxResponseMs);
    waiting.push(answer);
    child.stdin.write(`${JSON.stringify(question)}\n`);
    return answer.promise.finally(() => clearTimeout(timer));
  };
}
