/** Observations, in the shapes of Google's API design: names, masks, etags in bodies, custom verbs, operations. */
import { createHash, randomBytes } from 'node:crypto';
import { rejection } from '../../servers/kit/rejection.ts';
import type { Call, Result } from '../../servers/kit/serve.ts';
import {
  bearerAuth,
  bearerCaller,
  type Caller,
  clock,
  found,
  type Input,
  inputOf,
  json,
  stranger,
} from './stranger.ts';

interface Observation {
  readonly name: string;
  target: unknown;
  exposure_seconds: unknown;
  notes: unknown;
  filters: unknown;
  state: string;
  revision: number;
  readonly create_time: string;
  update_time: string;
  delete_time?: string | undefined;
}

interface Export {
  readonly name: string;
  readonly started: number;
  /** Milliseconds after the start. */
  cancelled?: number;
}

const written = ['target', 'exposure_seconds', 'notes', 'filters'] as const;

/** The codes of gRPC by status. */
const codes: Readonly<Record<number, number>> = { 400: 3, 401: 16, 403: 7, 404: 5, 409: 10, 412: 9 };

export const aip = stranger(
  'aip',
  {
    paging: {
      'token-repeats': 'Observations_ListObservations: a page begins with the last row of the page before',
      'token-drops-deleted': 'Observations_ListObservations: show_deleted is lost on the second page',
      'total-page': 'Observations_ListObservations: total_size is that of the page',
    },
    lists: {
      'deleted-listed': 'Observations_ListObservations: deleted observations are listed',
      'deleted-never-listed': 'Observations_ListObservations: show_deleted lists none that is deleted',
      'filter-ignored': 'Observations_ListObservations: filter is ignored',
    },
    locking: {
      'stale-updated': 'Observations_UpdateObservation: a stale etag is accepted',
      'stale-deleted': 'Observations_DeleteObservation: a stale etag is accepted',
      'stale-cancelled': 'Observations_CancelObservation: a stale etag is accepted',
      'etag-kept': 'Observations_ScheduleObservation: the etag stays',
    },
    states: {
      'completed-cancelled': 'Observations_CancelObservation: a completed observation can be cancelled',
      'draft-completed': 'Observations_CompleteObservation: a draft can be completed',
      'undelete-lost': 'Observations_UndeleteObservation: the observation stays deleted',
      'undelete-resets': 'Observations_UndeleteObservation: the observation is a draft again',
    },
    writes: {
      'mask-ignored': 'Observations_UpdateObservation: fields that are not in update_mask are updated',
      'notes-cleared': 'Observations_UpdateObservation: without a mask, notes that are not sent are cleared',
      'id-ignored': 'Observations_CreateObservation: observation_id is ignored',
      'request-repeated': 'Observations_CreateObservation: a repeated request_id creates a second observation',
      'batch-partial': 'Observations_BatchCreateObservations: the observations before one that is rejected are created',
      'batch-get-hides': 'Observations_BatchGetObservations: a name that does not exist is left out',
      'batch-loses-notes': 'Observations_BatchCreateObservations: notes are returned, and not stored',
    },
    jobs: {
      'done-without-response': 'Operations_GetOperation: an operation that is done has no response',
      'cancel-lies': 'Operations_CancelOperation: a cancelled operation ends with a response',
      'response-early': 'Operations_GetOperation: the response is there before done',
    },
    roles: {
      'undelete-by-writers': 'Observations_UndeleteObservation: observations.write suffices',
      'batch-by-readers': 'Observations_BatchCreateObservations: observations.read suffices',
    },
    'written later': {
      'filters-cut': 'Observations_CreateObservation: only the first of several filters is stored',
      'cancel-clears-notes': 'Observations_CancelObservation: the notes are cleared',
      'operation-of-other': 'Operations_GetOperation: the name is that of another operation',
      'page-size-ignored': 'Observations_ListObservations: page_size is ignored',
      'update-by-readers': 'Observations_UpdateObservation: observations.read suffices',
    },
  },
  bearerAuth(['observations.read', 'observations.write', 'observations.admin'], 1),
  (contract, is) => {
    const now = clock();
    const observations: Observation[] = [];
    const exports = new Map<string, Export>();
    const requests = new Map<string, Observation>();
    const idOf = (prefix: string) => `${prefix}-${randomBytes(6).toString('hex')}`;
    const build = (input: Input, id: unknown): Observation => {
      const { target, exposure_seconds = 0, notes = '' } = input;
      const { filters: all = [] } = input as { filters?: unknown[] };
      const filters = is('filters-cut') ? all.slice(0, 1) : all;
      const time = now();
      return {
        name: `observations/${id ?? idOf('obs')}`,
        target,
        exposure_seconds,
        notes,
        filters,
        state: 'DRAFT',
        revision: 1,
        create_time: time,
        update_time: time,
      };
    };
    const store = (one: Observation): Observation => {
      observations.push(one);
      return one;
    };
    for (const [index, target] of ['M31', 'M42', 'Vega', 'M51', 'Sirius', 'M13', 'M57'].entries()) {
      const one = store(
        build({ target, exposure_seconds: 60 * (index + 1), notes: `Night ${index}` }, `seed-${index}`),
      );
      one.state = ['DRAFT', 'SCHEDULED', 'COMPLETED', 'CANCELLED'][index % 4] ?? 'DRAFT';
      if (index === 5) one.delete_time = now();
    }

    const etagOf = ({ name, revision }: Observation) =>
      createHash('sha256').update(`${name} ${revision}`).digest('base64url').slice(0, 12);
    const view = (one: Observation) => {
      const { revision: _revision, delete_time, ...others } = one;
      return { ...others, etag: etagOf(one), ...(delete_time !== undefined && { delete_time }) };
    };
    const observationOf = ({ values }: Call<Caller>) =>
      found(observations.find(({ name }) => name === `observations/${values.path.observation}`));
    const presentOf = (call: Call<Caller>) => {
      const one = observationOf(call);
      return found(one.delete_time === undefined ? one : undefined);
    };
    /** @throws Rejection with 409 */
    function checkEtag(one: Observation, etag: unknown, open: string): void {
      if (etag !== undefined && etag !== '' && etag !== etagOf(one) && !is(open))
        throw rejection(409, 'The etag is not the current one.');
    }
    const touch = (one: Observation) => {
      one.revision += 1;
      one.update_time = now();
      return json(200, view(one));
    };
    const checkFree = (id: unknown) => {
      if (id !== undefined && observations.some(({ name }) => name === `observations/${id}`))
        throw rejection(409, `observations/${id} exists.`);
    };

    const verb =
      (to: string, from: readonly string[], open = '') =>
      (call: Call<Caller>): Result => {
        const one = presentOf(call);
        checkEtag(one, inputOf(call).etag, open);
        if (!from.includes(one.state)) throw rejection(400, `The observation is ${one.state}.`);
        one.state = to;
        if (is('cancel-clears-notes') && to === 'CANCELLED') one.notes = '';
        if (is('etag-kept') && to === 'SCHEDULED') return json(200, view(one));
        return touch(one);
      };

    function list(call: Call<Caller>): Result {
      const { page_size: wanted = 0, page_token: token = '', filter = '', show_deleted } = call.values.query;
      const size = wanted === 0 || is('page-size-ignored') ? 50 : Math.min(Number(wanted), 100);
      const [, field = '', value = ''] = /^\s*(state|target)\s*=\s*"([^"]*)"\s*$/.exec(String(filter)) ?? [];
      if (filter !== '' && field === '') throw rejection(400, 'The filter is invalid.');
      const last = token === '' ? '' : Buffer.from(String(token), 'base64url').toString();
      if (token !== '' && !observations.some(({ name }) => name === last))
        throw rejection(400, 'The page_token is invalid.');
      const isShown = show_deleted === true && !(is('token-drops-deleted') && token !== '');
      const rows = observations
        .filter(({ delete_time: time }) => time === undefined || isShown || is('deleted-listed'))
        .filter(({ delete_time: time }) => time === undefined || !is('deleted-never-listed'))
        .filter((one) => field === '' || is('filter-ignored') || one[field as 'state' | 'target'] === value)
        .sort((one, other) => (one.name < other.name ? -1 : 1));
      const rest = rows.filter(({ name }) => (is('token-repeats') ? name >= last : name > last));
      const page = rest.slice(0, size);
      const end = rest.length > size ? page.at(-1) : undefined;
      return json(200, {
        observations: page.map(view),
        next_page_token: end === undefined ? '' : Buffer.from(end.name).toString('base64url'),
        total_size: is('total-page') ? page.length : rows.length,
      });
    }

    const exportOf = ({ values }: Call<Caller>) => found(exports.get(`operations/${values.path.operation}`));
    const viewOf = ({ name, started, cancelled }: Export) => {
      const age = Date.now() - started;
      const isCancelled = cancelled !== undefined && !is('cancel-lies');
      const done = isCancelled || age >= 160;
      const response = { uri: `https://observatory.example.com/${name}`, observation_count: observations.length };
      const hasResponse = done ? !isCancelled && !is('done-without-response') : is('response-early');
      return {
        name: is('operation-of-other') ? 'operations/export-000000000000' : name,
        metadata: {
          progress_percent: done && !isCancelled ? 100 : Math.min(99, Math.floor((cancelled ?? age) / 2)),
          create_time: new Date(started).toISOString(),
        },
        done,
        ...(isCancelled && { error: { code: 1, message: 'The operation was cancelled.', details: [] } }),
        ...(hasResponse && { response }),
      };
    };

    return {
      contract,
      lenient: true,
      authenticate: (operation, request) => {
        const id = operation.id.split('_')[1] ?? '';
        const opened: Readonly<Record<string, string>> = {
          ...(is('undelete-by-writers') && { UndeleteObservation: 'observations.write' }),
          ...(is('update-by-readers') && { UpdateObservation: 'observations.read' }),
          ...(is('batch-by-readers') && { BatchCreateObservations: 'observations.read' }),
        };
        const needed = [opened[id] ?? '', ...operation.security.flatMap((one) => Object.values(one).flat())];
        const isAllowed = (scopes: readonly string[]) => needed.some((scope) => scopes.includes(scope));
        return bearerCaller(operation, request, isAllowed);
      },
      reject: ({ status, message }) => json(status, { code: codes[status] ?? 2, message, details: [] }),
      handlers: {
        Observations_ListObservations: list,
        Observations_CreateObservation: (call) => {
          const { observation_id: id, request_id: request } = call.values.query;
          const before = requests.get(String(request));
          if (request !== undefined && before !== undefined && !is('request-repeated')) return json(200, view(before));
          checkFree(id);
          const one = store(build(inputOf(call), is('id-ignored') ? undefined : id));
          if (request !== undefined) requests.set(String(request), one);
          return json(200, view(one));
        },
        Observations_BatchGetObservations: ({ values }) => {
          const all = (values.query.names as string[]).map((name) => observations.find((one) => one.name === name));
          const present = all.filter((one) => one !== undefined);
          if (present.length < all.length && !is('batch-get-hides')) throw rejection(404, 'Not found');
          return json(200, { observations: present.map(view) });
        },
        Observations_BatchCreateObservations: (call) => {
          const all = inputOf(call).requests as { observation: Input; observation_id?: string }[];
          const ids = all.flatMap(({ observation_id: id }) => id ?? []);
          const isRepeated = new Set(ids).size < ids.length;
          const conflict = () => rejection(409, 'An observation exists.');
          if (is('batch-partial')) {
            const built = all.map(({ observation, observation_id: id }) => {
              checkFree(id);
              return store(build(observation, id));
            });
            return json(200, { observations: built.map(view) });
          }
          if (isRepeated) throw conflict();
          for (const id of ids) checkFree(id);
          const built = all.map(({ observation, observation_id: id }) => store(build(observation, id)));
          const result = { observations: built.map(view) };
          if (is('batch-loses-notes')) for (const one of built) one.notes = '';
          return json(200, result);
        },
        Observations_ExportObservations: () => {
          const one: Export = { name: `operations/${idOf('export')}`, started: Date.now() };
          exports.set(one.name, one);
          return json(200, viewOf(one));
        },
        Observations_ScheduleObservation: verb('SCHEDULED', ['DRAFT']),
        Observations_CompleteObservation: verb(
          'COMPLETED',
          is('draft-completed') ? ['DRAFT', 'SCHEDULED'] : ['SCHEDULED'],
        ),
        Observations_CancelObservation: verb(
          'CANCELLED',
          is('completed-cancelled') ? ['DRAFT', 'SCHEDULED', 'COMPLETED'] : ['DRAFT', 'SCHEDULED'],
          'stale-cancelled',
        ),
        Observations_UndeleteObservation: (call) => {
          const one = observationOf(call);
          if (one.delete_time === undefined) throw rejection(409, 'The observation is not deleted.');
          const time = one.delete_time;
          one.delete_time = undefined;
          if (is('undelete-resets')) one.state = 'DRAFT';
          const result = touch(one);
          if (is('undelete-lost')) one.delete_time = time;
          return result;
        },
        Observations_GetObservation: (call) => json(200, view(observationOf(call))),
        Observations_DeleteObservation: (call) => {
          const one = presentOf(call);
          checkEtag(one, call.values.query.etag, 'stale-deleted');
          one.delete_time = now();
          return touch(one);
        },
        Observations_UpdateObservation: (call) => {
          const one = presentOf(call);
          const input = inputOf(call);
          checkEtag(one, input.etag, 'stale-updated');
          const mask = String(call.values.query.update_mask ?? '');
          const names = mask === '' ? [] : mask === '*' ? [...written] : mask.split(',');
          if (names.some((name) => !written.some((one) => one === name)))
            throw rejection(400, 'The update_mask is invalid.');
          const empty = { target: one.target, exposure_seconds: 0, notes: '', filters: [] };
          const isMasked = names.length > 0 && !is('mask-ignored');
          for (const name of written) {
            if (isMasked ? names.includes(name) : input[name] !== undefined) one[name] = input[name] ?? empty[name];
          }
          if (is('notes-cleared') && names.length === 0 && input.notes === undefined) one.notes = '';
          return touch(one);
        },
        Operations_CancelOperation: (call) => {
          const one = exportOf(call);
          const age = Date.now() - one.started;
          if (age < 160) one.cancelled ??= age;
          return json(200, {});
        },
        Operations_GetOperation: (call) => json(200, viewOf(exportOf(call))),
      },
    };
  },
);
