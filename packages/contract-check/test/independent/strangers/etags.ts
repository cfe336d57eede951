/** Documents and imports: every change requires `If-Match`, and the report of an import is read at a path of its own. */
import { randomBytes } from 'node:crypto';
import { type Contract, indexContract, type JsonObject, object } from '../../servers/kit/contract.ts';
import { rejection } from '../../servers/kit/rejection.ts';
import type { Call, Handler, Result } from '../../servers/kit/serve.ts';
import {
  bearerAuth,
  bearerCaller,
  type Caller,
  clock,
  found,
  type Input,
  type Is,
  inputOf,
  json,
  stranger,
} from './stranger.ts';

interface Document {
  readonly document_id: string;
  title: unknown;
  summary: unknown;
  version: number;
  updated_at: string;
  readonly [name: string]: unknown;
}

interface Import {
  readonly import_id: string;
  readonly source: unknown;
  readonly started: number;
  reads: number;
}

export const etags = stranger(
  'etags',
  {
    'invalid input': {
      'long-title': 'documents.replace: a title of more than 100 characters is accepted',
      'kind-free': 'documents.update: any kind is accepted',
    },
    'valid input': {
      'summary-needed': 'documents.replace: a summary that is null is rejected',
      'pages-below': 'documents.update: 5000 pages are rejected',
    },
    locking: {
      'etag-kept': 'documents.update: an update does not change the ETag',
      'stale-deleted': 'documents.delete: any If-Match is accepted',
      'stale-stored': 'documents.replace: what is rejected with 412 is stored',
      'stale-accepted': 'documents.replace: any If-Match is accepted',
    },
    writes: { 'summary-cleared': 'documents.update: an update without a summary clears it' },
    lists: { 'cursor-skips': 'documents.list: the next page skips a document' },
    jobs: {
      'progress-99': 'imports.get: the progress of an import that has succeeded is 99',
      'location-wrong': 'imports.start: Location leads to no import',
      'job-goes-back': 'imports.get: an import that has succeeded runs again',
      'job-unfinished': 'imports.get: an import that has succeeded has no finished_at',
      'report-early': 'imports.report: the report is returned while the import runs',
      'report-missing': 'imports.report: the report of an import that has succeeded does not exist',
    },
  },
  bearerAuth([], 1),
  (contract, is) => {
    const now = clock();
    const documents: Document[] = [];
    const imports = new Map<string, Import>();
    const idOf = (prefix: string) => `${prefix}_${randomBytes(6).toString('hex')}`;
    const fields = ({ title, kind, pages = 1, summary = null }: Input) => ({ title, kind, pages, summary });
    const add = (input: Input): Document => {
      const document = { document_id: idOf('doc'), ...fields(input), version: 1, updated_at: now() };
      documents.push(document);
      return document;
    };
    for (const index of Array(7).keys()) {
      const kind = ['letter', 'contract', 'memo'][index % 3];
      add({ title: `Document ${index}`, kind, pages: 3 + index, summary: index % 2 === 0 ? null : `About ${index}` });
    }
    const shown = (status: number, { version, ...document }: Document, headers = {}): Result =>
      json(status, document, { etag: `"v${version}-${document.document_id}"`, ...headers });
    const documentOf = ({ values }: Call<Caller>) =>
      found(documents.find(({ document_id }) => document_id === values.path.document_id));

    /** @throws Rejection with 404 or 412 */
    function matched(call: Call<Caller>): Document {
      const document = documentOf(call);
      const tags = (call.request.headers['if-match'] ?? '').split(',').map((tag) => tag.trim());
      const isCurrent = tags.includes('*') || tags.includes(`"v${document.version}-${document.document_id}"`);
      const open = is('stale-accepted') ? 'documents.replace' : is('stale-deleted') ? 'documents.delete' : '';
      const isFree = call.operation.id === open;
      if (!isCurrent && is('stale-stored') && call.operation.id === 'documents.replace')
        Object.assign(document, fields(inputOf(call)), { version: document.version + 1 });
      if (!isCurrent && !isFree) throw rejection(412, 'The document has changed.');
      return document;
    }

    const change =
      (inputFor: (input: Input) => Input): Handler<Caller> =>
      (call) => {
        const document = matched(call);
        const isKept = is('etag-kept') && call.operation.id === 'documents.update';
        const version = document.version + Number(!isKept);
        Object.assign(document, inputFor(inputOf(call)), { version, updated_at: now() });
        return shown(200, document);
      };

    const importOf = ({ values }: Call<Caller>) => found(imports.get(String(values.path.import_id)));
    const stateOf = ({ started }: Import) => {
      const age = Date.now() - started;
      return age < 40 ? 'queued' : age < 180 ? 'running' : 'succeeded';
    };
    const viewOf = (one: Import) => {
      const { import_id, source, started } = one;
      const natural = stateOf(one);
      const isDone = natural === 'succeeded';
      if (isDone) one.reads += 1;
      const isBack = is('job-goes-back') && isDone && one.reads % 2 === 0;
      const progress =
        isDone && !isBack
          ? is('progress-99')
            ? 99
            : 100
          : Math.max(0, Math.min(99, Math.floor((Date.now() - started - 40) / 2)));
      const isEnded = isDone && !isBack && !is('job-unfinished');
      const finished_at = isEnded ? new Date(started + 180).toISOString() : null;
      return { import_id, state: isBack ? 'running' : natural, progress, source, finished_at };
    };

    return {
      contract: altered(contract, is),
      authenticate: (operation, request) => bearerCaller(operation, request),
      reject: ({ status, message }) => ({
        status,
        mediaType: 'application/problem+json',
        body: { title: message, status },
      }),
      handlers: {
        'documents.list': ({ values }) => {
          const { cursor, limit = 20, kind } = values.query as Record<string, number & string>;
          const all = documents.filter((one) => kind === undefined || one.kind === kind);
          const id = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString();
          const skipped = 1 + Number(is('cursor-skips'));
          const start = cursor === undefined ? 0 : documents.findIndex((one) => one.document_id === id) + skipped;
          if (cursor !== undefined && start === 0) throw rejection(400, 'The cursor is unknown.');
          const rows = all.filter((one) => documents.indexOf(one) >= start);
          const page = rows.slice(0, limit);
          const last = rows.length > limit ? page.at(-1)?.document_id : undefined;
          const next = last === undefined ? null : Buffer.from(last).toString('base64url');
          return json(200, { documents: page.map(({ version: _version, ...one }) => one), next_cursor: next });
        },
        'documents.create': (call) => {
          const document = add(inputOf(call));
          return shown(201, document, { location: `/documents/${document.document_id}` });
        },
        'documents.get': (call) => shown(200, documentOf(call)),
        'documents.replace': (call) => {
          if (is('summary-needed') && inputOf(call).summary === null) throw rejection(400, 'summary must be a text.');
          return change(fields)(call);
        },
        'documents.update': change((input) => (is('summary-cleared') ? { summary: null, ...input } : input)),
        'documents.delete': (call) => {
          documents.splice(documents.indexOf(matched(call)), 1);
          return { status: 204 };
        },
        'imports.start': (call) => {
          const one = { import_id: idOf('imp'), source: inputOf(call).source, started: Date.now(), reads: 0 };
          imports.set(one.import_id, one);
          return json(202, viewOf(one), {
            location: `/imports/${is('location-wrong') ? 'imp_000000000000' : one.import_id}`,
          });
        },
        'imports.get': (call) => json(200, viewOf(importOf(call))),
        'imports.report': (call) => {
          const one = importOf(call);
          const isDone = stateOf(one) === 'succeeded';
          if (!isDone && !is('report-early')) throw rejection(409, 'The import has not succeeded.');
          if (isDone && is('report-missing')) throw rejection(404, 'There is no report.');
          return json(200, { import_id: one.import_id, imported: 12 });
        },
      },
    };
  },
);

/** The rules that the server follows: those of the contract, but for one. */
function altered({ document }: Contract, is: Is): Contract {
  const copy = structuredClone(document);
  const within = (start: JsonObject, ...keys: string[]) => keys.reduce((at, key) => object(at[key]), start);
  const item = within(copy, 'paths', '/documents/{document_id}');
  const body = structuredClone(within(copy, 'components', 'requestBodies', 'Document'));
  within(item, 'put').requestBody = body;
  const replaced = within(body, 'content', 'application/json', 'schema', 'properties', 'title');
  const schema = within(item, 'patch', 'requestBody', 'content', 'application/merge-patch+json', 'schema');
  const updated = within(schema, 'properties');
  if (is('long-title')) delete replaced.maxLength;
  if (is('kind-free')) updated.kind = { type: 'string' };
  if (is('pages-below')) within(updated, 'pages').maximum = 4999;
  return indexContract(copy);
}
