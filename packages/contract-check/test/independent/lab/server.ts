/** A laboratory in memory: samples with states, roles per operation and field, jobs, and optimistic locking. */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Auth } from '../../../src/run/options.ts';
import { type Contract, type Operation, readContract } from '../../servers/kit/contract.ts';
import { type Rejection, rejection } from '../../servers/kit/rejection.ts';
import { type Alter, type Call, type Handler, type Request, type Result, serve } from '../../servers/kit/serve.ts';

interface Caller {
  readonly scopes: readonly string[];
}

interface Row {
  [name: string]: unknown;
  id: string;
}

type Sample = Row & { code: string; status: string; version: number; [name: string]: unknown };
type Instrument = Row & { version: number };

interface Job {
  readonly id: string;
  readonly kind: string;
  readonly rows: readonly { readonly code: string }[];
  readonly started: number;
  cancelled: boolean;
  reads: number;
}

/** The states of a sample: each action with the states it is possible in, and the one it leads to. */
const actions: Readonly<Record<string, readonly [from: readonly string[], to: string]>> = {
  start: [['received'], 'testing'],
  submit: [['testing'], 'review'],
  release: [['review'], 'released'],
  reject: [['review'], 'rejected'],
  reopen: [['rejected'], 'testing'],
  archive: [['released', 'rejected'], 'archived'],
};

/** What a drift lets an action do that the contract forbids, or the other way. */
const wrongly: Readonly<Record<string, readonly [action: string, from: readonly string[]]>> = {
  'start-released': ['start', ['received', 'released']],
  'submit-received': ['submit', ['testing', 'received']],
  'release-testing': ['release', ['review', 'testing']],
  'release-twice': ['release', ['review', 'released']],
  'reject-released': ['reject', ['review', 'released']],
  'archive-received': ['archive', ['released', 'rejected', 'received']],
  'reopen-archived': ['reopen', ['rejected', 'archived']],
  'archive-rejected-not': ['archive', ['released']],
  'reopen-never': ['reopen', []],
};

const file = fileURLToPath(new URL('openapi.yaml', import.meta.url));
const allScopes = ['read', 'write', 'review', 'admin', 'billing'];
const titles: Readonly<Record<number, string>> = { 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not found' };

let contract: Promise<Contract> | undefined;

export async function start(drift?: string, alter?: Alter): Promise<{ url: string; stop(): Promise<void> }> {
  contract ??= readContract(file);
  const is = (name: string) => drift === name;
  let tick = Date.now() - 1_000_000;
  const now = () => {
    tick = Math.max(tick + 1, Date.now());
    return new Date(tick).toISOString();
  };
  const samples: Sample[] = [];
  const instruments: Instrument[] = [];
  const results: Row[] = [];
  const jobs = new Map<string, Job>();
  const tagOf = (row: { version: number }) => (is('tag-constant') ? '"1"' : `"${row.version}"`);

  function add(input: Record<string, unknown>, caller: Caller): Sample {
    const at = now();
    const defaults = { quantity: 1, priority: 'normal', location: null, notes: '', costCenter: null };
    const state = { status: is('created-testing') ? 'testing' : 'received', version: 1, resultCount: 0 };
    const dates = { releasedAt: null, createdAt: at, updatedAt: at };
    const sample = { id: randomUUID(), code: String(input.code), ...defaults, ...input, ...state, ...dates };
    samples.push(sample);
    const [first] = samples;
    if (is('create-moves-first') && first) first.location = input.location ?? null;
    void caller;
    return sample;
  }

  const seeded = { scopes: allScopes };
  for (const index of Array(9).keys())
    add(
      {
        code: `LAB-${100 + index * 7}`,
        material: ['blood', 'soil', 'water', 'ore'][index % 4],
        quantity: 2.5 + index * 1.125,
        priority: ['low', 'normal', 'urgent'][index % 3],
        location: index % 2 === 0 ? `Shelf ${index}` : null,
        costCenter: `CC-${index}`,
      },
      seeded,
    );
  for (const [index, status] of ['testing', 'review', 'released', 'rejected', 'archived'].entries()) {
    const sample = samples[index + 2];
    if (sample) Object.assign(sample, { status, version: 2, releasedAt: index > 1 ? now() : null });
  }
  for (const name of ['Centrifuge', 'Spectrometer', 'Balance', 'Microscope', 'Freezer', 'Incubator'])
    instruments.push({
      id: randomUUID(),
      name,
      maker: 'Acme',
      room: null,
      isCalibrated: false,
      version: 1,
      createdAt: now(),
    });

  /** A sample as a caller may see it. */
  function shown(sample: Sample, caller: Caller, operation: string): Row {
    const isOpen =
      caller.scopes.includes('billing') ||
      (is('cost-read') && operation === 'getSample') ||
      (is('cost-list') && operation === 'listSamples');
    const isClosed = is('cost-hidden') && !caller.scopes.includes('admin');
    const view: Sample = { ...sample, costCenter: isOpen && !isClosed ? sample.costCenter : null };
    if (is('list-old-status') && operation === 'listSamples' && sample.version > 1)
      view.status = sample.before === undefined ? sample.status : String(sample.before);
    delete view.before;
    delete view.reads;
    return view;
  }

  const sampleOf = ({ values }: Call<Caller>): Sample => {
    const found = samples.find(({ id }) => id === String(values.path.sampleId).toLowerCase());
    if (found === undefined) throw rejection(404, 'The sample does not exist.');
    return found;
  };

  /** @throws Rejection with 412 or 428 */
  function checkTag({ request, operation }: Call<Caller>, row: { version: number }, isRequired = false): void {
    const condition = request.headers['if-match'];
    const { id } = operation;
    if (condition === undefined) {
      if (isRequired && !is('no-428')) throw rejection(428, 'If-Match is required.');
      return;
    }
    if (is(`any-tag-${id}`) || (is('any-tag-actions') && actions[id.replace('Sample', '')] !== undefined)) return;
    const isStar = condition.trim() === '*' && !is('star-rejected');
    const tags = is('list-of-tags-rejected') ? [condition] : condition.split(',').map((one) => one.trim());
    const isCurrent =
      is('current-rejected-delete') && id === 'deleteSample' ? false : tags.includes(`"${row.version}"`);
    if (!isStar && !isCurrent) {
      if (is('stale-stored') && id === 'updateSample')
        Object.assign(row, { location: 'stored', version: row.version + 1 });
      throw rejection(412, 'The resource has changed.');
    }
  }

  const withTag = (status: number, sample: Sample, call: Call<Caller>, headers = {}): Result => ({
    status,
    headers: { etag: tagOf(sample), ...headers },
    body: shown(sample, call.caller, call.operation.id),
  });

  function writable(input: Record<string, unknown>, { caller, operation }: Call<Caller>): void {
    if (!('costCenter' in input) || caller.scopes.includes('billing')) return;
    if (is('cost-write') && operation.id === 'updateSample') return;
    throw rejection(403, 'costCenter requires the scope billing.');
  }

  function isTaken(code: unknown, own?: Sample): boolean {
    return samples.some((one) => one.code === code && one !== own);
  }

  function page<Item>(rows: readonly Item[], { values }: Call<Caller>): { items: Item[]; total: number } {
    const { limit = 20, offset = 0 } = values.query as { limit?: number; offset?: number };
    return { items: rows.slice(offset, offset + limit), total: rows.length };
  }

  function listSamples(call: Call<Caller>): Result {
    const { status, priority, includeArchived, sort = 'createdAt' } = call.values.query as Record<string, unknown>;
    const stateOf = (one: Sample) => (is('filter-old-status') ? (one.before ?? one.status) : one.status);
    const isHidden = (one: Sample) =>
      (one.status === 'archived' && includeArchived !== true && status !== 'archived' && !is('archived-leak')) ||
      (one.status === 'released' && is('released-hidden')) ||
      (one.status === 'rejected' && is('rejected-not-filtered') && status === 'rejected');
    const key = String(sort).replace('-', '');
    const sign = String(sort).startsWith('-') ? -1 : 1;
    const rows = samples
      .filter((one) => !isHidden(one))
      .filter((one) => status === undefined || stateOf(one) === status)
      .filter((one) => priority === undefined || one.priority === priority)
      .sort((one, other) => (String(one[key]) < String(other[key]) ? -sign : sign));
    const body = page(rows, call);
    if (is('list-touches')) for (const one of body.items) one.updatedAt = now();
    if (is('total-archived'))
      body.total = samples.filter((one) => status === undefined || one.status === status).length;
    return { status: 200, body: { ...body, items: body.items.map((one) => shown(one, call.caller, 'listSamples')) } };
  }

  function act(name: string): Handler<Caller> {
    return (call) => {
      const sample = sampleOf(call);
      checkTag(call, sample);
      const [own, to] = actions[name] ?? [[], ''];
      const [other, more] = wrongly[drift ?? ''] ?? [];
      const from = other === name ? (more ?? []) : own;
      if (!from.includes(sample.status)) throw rejection(409, `A sample that is ${sample.status} cannot ${name}.`);
      const next = is('submit-skips') && name === 'submit' ? 'released' : to;
      const { status: before } = sample;
      const answer = { ...sample, status: next, version: sample.version + 1 };
      if (!(is('archive-not-stored') && name === 'archive')) {
        Object.assign(sample, { status: next, version: sample.version + (is('action-keeps-version') ? 0 : 1), before });
        sample.updatedAt = is('action-keeps-updated') ? sample.updatedAt : now();
        if (name === 'release' && !is('released-at-null')) sample.releasedAt = now();
        if (is('action-clears-location')) sample.location = null;
        if (is('action-moves-created')) sample.createdAt = now();
        const neighbour = samples[samples.indexOf(sample) - 1];
        if (is('action-on-neighbour') && neighbour) Object.assign(neighbour, { status: next });
        return withTag(200, sample, call);
      }
      return withTag(200, answer, call);
    };
  }

  function change(call: Call<Caller>): Result {
    const sample = sampleOf(call);
    checkTag(call, sample, true);
    const input = call.body.value as Record<string, unknown>;
    writable(input, call);
    if (!['received', 'testing'].includes(sample.status) && !is('change-released'))
      throw rejection(409, `A sample that is ${sample.status} cannot be changed.`);
    if (is('change-testing-not') && sample.status === 'testing') throw rejection(409, 'It is being tested.');
    if (input.code !== undefined && isTaken(input.code, sample)) throw rejection(409, 'The code is taken.');
    Object.assign(sample, input, { version: sample.version + 1, updatedAt: now() });
    const other = samples.findLast((one) => one !== sample);
    if (is('change-moves-other') && other) other.notes = 'changed with another sample';
    return withTag(200, sample, call);
  }

  function remove(call: Call<Caller>): Result {
    const sample = sampleOf(call);
    checkTag(call, sample);
    if (sample.status !== 'received' && !(is('delete-released') && sample.status === 'released'))
      throw rejection(409, `A sample that is ${sample.status} cannot be deleted.`);
    samples.splice(samples.indexOf(sample), 1);
    if (is('delete-takes-next')) samples.splice(samples.length - 1, 1);
    return { status: 204 };
  }

  function bulk(call: Call<Caller>): Result {
    const { samples: inputs } = call.body.value as { samples: Record<string, unknown>[] };
    const isFailing = (input: Record<string, unknown>) => isTaken(input.code);
    if (is('bulk-all-or-nothing') && inputs.some(isFailing)) {
      const error = { code: 'conflict', message: 'The code of another sample is taken.' };
      return {
        status: 200,
        body: {
          created: 0,
          failed: inputs.length,
          results: inputs.map((_, index) => ({ index, status: 'failed', error })),
        },
      };
    }
    let stops = false;
    const list = inputs.map((input, index) => {
      writable(input, call);
      const last = inputs[index - 1];
      const isTwice = !is('bulk-twice') && inputs.findIndex((one) => one.code === input.code) < index;
      if (isTwice || stops || (isFailing(input) && !is('bulk-twice'))) {
        if (is('bulk-stops')) stops = true;
        if (is('bulk-failed-stored')) add({ ...input, code: `${input.code}-x` }, call.caller);
        return { index, status: 'failed', error: { code: 'conflict', message: 'The code is taken.' } };
      }
      const own = is('bulk-mixes') && last ? { ...input, material: last.material } : input;
      const sample = add(own, call.caller);
      if (is('bulk-last-lost') && index === inputs.length - 1 && index > 0) samples.pop();
      return { index, status: 'created', sample: shown(sample, call.caller, 'createSamples') };
    });
    const created = list.filter(({ status }) => status === 'created').length;
    const failed = is('bulk-failed-zero') ? 0 : list.length - created;
    const order = is('bulk-index-shifted') ? list.map((one) => ({ ...one, index: list.length - 1 - one.index })) : list;
    return { status: 200, body: { created, failed, results: order } };
  }

  /** A job as it is now: queued for 60 ms, running until 260 ms, and then done. */
  function jobAt(job: Job): Row {
    job.reads += 1;
    const age = is('job-never-done') ? Math.min(200, Date.now() - job.started) : Date.now() - job.started;
    const part = Math.max(0, Math.min(1, (age - 60) / 200));
    const natural = age < 60 ? 'queued' : part < 1 ? 'running' : 'done';
    const isBack = is('job-back') && natural === 'done' && job.reads % 3 === 0;
    const status = job.cancelled ? 'cancelled' : isBack ? 'running' : natural;
    const isDone = natural === 'done' && !job.cancelled;
    const total = job.rows.length;
    const processed = Math.floor(part * total);
    return {
      id: job.id,
      kind: job.kind,
      status,
      progress: isDone && is('job-progress-90') ? 90 : is('job-progress-back') && isDone ? 100 : Math.floor(part * 100),
      total: is('job-total-off') && isDone ? total + 1 : total,
      processed: is('job-processed-more') && isDone ? total + 3 : processed,
      startedAt:
        natural === 'queued' || (is('job-no-start') && isDone) ? null : new Date(job.started + 60).toISOString(),
      finishedAt:
        (isDone && !is('job-no-finish')) || (is('job-early-finish') && natural === 'running') || status === 'cancelled'
          ? new Date(job.started + (is('job-finish-first') ? 0 : 260)).toISOString()
          : null,
      rowsUrl:
        (isDone && !is('job-no-url')) || (is('job-early-url') && natural === 'running')
          ? `/exports/${job.id}/rows`
          : null,
    };
  }

  const jobOf = ({ values }: Call<Caller>): Job => {
    const job = jobs.get(String(values.path.exportId).toLowerCase());
    if (job === undefined) throw rejection(404, 'The export does not exist.');
    return job;
  };

  const handlers: Record<string, Handler<Caller>> = {
    listSamples,
    createSample: (call) => {
      const input = call.body.value as Record<string, unknown>;
      writable(input, call);
      if (isTaken(input.code)) throw rejection(409, 'The code is taken.');
      const sample = add(input, call.caller);
      return withTag(201, sample, call, {
        location: `/samples/${sample.id}`,
        ...(is('created-tag') ? { etag: '"new"' } : {}),
      });
    },
    createSamples: bulk,
    getSample: (call) => {
      const sample = sampleOf(call);
      const reads = Number(sample.reads ?? 0) + 1;
      sample.reads = reads;
      const result = withTag(200, sample, call);
      const body = result.body as Row;
      if (is('third-read-rounds') && reads > 3) body.quantity = Math.floor(Number(sample.quantity));
      if (is('third-read-drops-notes') && reads > 3) body.notes = '';
      if (is('read-counts')) sample.resultCount = Number(sample.resultCount) + 1;
      if (is('read-moves-tag')) sample.version += 1;
      return result;
    },
    updateSample: change,
    deleteSample: remove,
    ...Object.fromEntries(Object.keys(actions).map((name) => [`${name}Sample`, act(name)])),
    listResults: (call) => {
      const { id } = sampleOf(call);
      const own = results.filter((one) => one.sampleId === id || is('results-of-all'));
      return { status: 200, body: is('results-first-hidden') ? own.slice(1) : own };
    },
    addResult: (call) => {
      const sample = sampleOf(call);
      if (sample.status !== 'testing' && !is('result-any-state')) throw rejection(409, 'It is not being tested.');
      const input = call.body.value as Record<string, unknown>;
      const result = { id: randomUUID(), sampleId: sample.id, unit: 'mg', ...input, createdAt: now() };
      results.push(result);
      if (!is('result-not-counted')) sample.resultCount = Number(sample.resultCount) + 1;
      sample.version += 1;
      return { status: 201, body: result };
    },
    listInstruments: (call) => ({ status: 200, body: page(instruments, call) }),
    createInstrument: (call) => {
      const input = call.body.value as Record<string, unknown>;
      const row = { id: randomUUID(), room: null, isCalibrated: false, ...input, version: 1, createdAt: now() };
      instruments.push(row);
      return { status: 201, headers: { etag: tagOf(row) }, body: row };
    },
    getInstrument: (call) => {
      const row = instrumentOf(call);
      return { status: 200, headers: { etag: tagOf(row) }, body: row };
    },
    replaceInstrument: (call) => {
      const row = instrumentOf(call);
      checkTag(call, row);
      const input = call.body.value as Record<string, unknown>;
      Object.assign(row, { room: null, isCalibrated: false }, input, { version: row.version + 1 });
      return { status: 200, headers: { etag: tagOf(row) }, body: row };
    },
    deleteInstrument: (call) => {
      const row = instrumentOf(call);
      checkTag(call, row);
      instruments.splice(instruments.indexOf(row), 1);
      return { status: 204 };
    },
    startExport: (call) => {
      const { kind } = call.body.value as { kind: string };
      const rows = (kind === 'samples' ? samples : results).map(({ id, code }) => ({ code: String(code ?? id) }));
      const job = { id: randomUUID(), kind, rows, started: Date.now(), cancelled: false, reads: 0 };
      jobs.set(job.id, job);
      return { status: 202, headers: { location: `/exports/${job.id}` }, body: jobAt(job) };
    },
    getExport: (call) => ({ status: 200, body: jobAt(jobOf(call)) }),
    getExportRows: (call) => {
      const job = jobOf(call);
      const isDone = jobAt(job).status === 'done';
      if (!isDone && !is('rows-early')) throw rejection(409, 'The export is not done.');
      if (is('rows-missing') && isDone) throw rejection(404, 'The rows do not exist.');
      return { status: 200, body: is('rows-short') ? job.rows.slice(1) : job.rows };
    },
    cancelExport: (call) => {
      const job = jobOf(call);
      const { status } = jobAt(job);
      const isOpen = status === 'queued' || status === 'running' || (is('cancel-done') && status === 'done');
      if (!isOpen) throw rejection(409, `An export that is ${status} cannot be cancelled.`);
      if (is('cancel-not-stored')) return { status: 200, body: { ...jobAt(job), status: 'cancelled' } };
      job.cancelled = true;
      return { status: 200, body: jobAt(job) };
    },
  };

  function instrumentOf({ values }: Call<Caller>): Instrument {
    const found = instruments.find(({ id }) => id === String(values.path.instrumentId).toLowerCase());
    if (found === undefined) throw rejection(404, 'The instrument does not exist.');
    return found;
  }

  /** @throws Rejection with 401 or 403 */
  function authenticate(operation: Operation, { headers }: Request): Caller {
    const token = /^bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
    const [, list] = /^lab-([a-z.]*)$/.exec(token) ?? [];
    if (list === undefined) throw rejection(401, 'Sign in.', { 'www-authenticate': 'Bearer realm="lab"' });
    const scopes = list.split('.');
    const needed = operation.security.flatMap(({ bearer }) => bearer ?? []);
    const [other, more] = rights[drift ?? ''] ?? [];
    const isAllowed = needed.every((scope) => scopes.includes(scope)) || (other === operation.id && more?.(scopes));
    const isBarred = other === operation.id && more?.(scopes) === false;
    if (!isAllowed || isBarred) {
      if (is('forbidden-but-done') && operation.id === 'releaseSample') return { scopes };
      throw rejection(403, `It requires the scope ${needed.join(', ')}.`);
    }
    return { scopes };
  }

  const { url, close } = await serve<Caller>(
    {
      contract: await contract,
      handlers,
      authenticate,
      reject,
      invalid: 422,
      headers: ({ operation }) => (operation === undefined ? {} : { 'cache-control': 'no-store' }),
    },
    alter === undefined ? {} : { alter },
  );
  return { url, stop: close };
}

/** Whether callers with these scopes are admitted, although they should not be; false bars those that should. */
const rights: Readonly<
  Record<string, readonly [operation: string, (scopes: readonly string[]) => boolean | undefined]>
> = {
  'role-create-read': ['createSample', (scopes) => scopes.includes('read') || undefined],
  'role-bulk-read': ['createSamples', (scopes) => scopes.includes('read') || undefined],
  'role-delete-write': ['deleteSample', (scopes) => scopes.includes('write') || undefined],
  'role-release-write': ['releaseSample', (scopes) => scopes.includes('write') || undefined],
  'role-archive-review': ['archiveSample', (scopes) => scopes.includes('review') || undefined],
  'role-list-none': ['listInstruments', () => true],
  'role-get-write-not': ['getInstrument', (scopes) => (scopes.includes('write') ? undefined : false)],
  'role-submit-admin-only': ['submitSample', (scopes) => (scopes.includes('admin') ? undefined : false)],
  'role-reject-admin-only': ['rejectSample', (scopes) => (scopes.includes('admin') ? undefined : false)],
};

function reject({ status, message }: Rejection): Result {
  const body = { type: 'about:blank', title: titles[status] ?? 'Rejected', status, detail: message };
  return { status, mediaType: 'application/problem+json', body };
}

const as = (scopes: readonly string[]) => ({ authorization: `Bearer lab-${scopes.join('.')}` });

export const auth = {
  caller: () => as(allScopes),
  forbidden: () => as([]),
  expired: () => ({ authorization: 'Bearer old' }),
  withScopes: (scopes: readonly string[]) => as(scopes),
} satisfies Auth & { withScopes: unknown };
