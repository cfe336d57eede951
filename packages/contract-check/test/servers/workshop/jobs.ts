import type { JsonObject } from '../kit/contract.ts';
import { rejection } from '../kit/rejection.ts';
import type { Call, Handler, Result } from '../kit/serve.ts';
import { type Job, jobDefaults, type Report } from './store.ts';
import { type Caller, compare } from './tools.ts';

/** Milliseconds until a report is completed. */
const reportDelay = 100;

export function jobHandlers(nextId: () => string): Record<string, Handler<Caller>> {
  return {
    listJobs,
    createJob: (call) => createJob(call, nextId),
    getJob: (call) => ({ status: 200, body: jobOf(call) }),
    deleteJob,
    createReport: (call) => createReport(call, nextId),
    getReport: (call) => ({ status: 200, body: presented(reportOf(call)) }),
    deleteReport,
    getRows,
  };
}

function jobOf({ caller, values }: Call<Caller>): Job {
  const job = caller.workshop.jobs.get(String(values.path.jobId).toLowerCase());
  if (job === undefined) throw rejection(404, 'there is no such job');
  return job;
}

/** The end of a page: the position of its last job in the order, and the query that defines the order. */
interface Cursor {
  readonly query: string;
  readonly key: string | number;
  readonly id: string;
}

function listJobs(call: Call<Caller>): Result {
  const { pageSize, cursor, ...query } = call.values.query as JsonObject & { pageSize: number };
  const order = orderOf(query);
  const found = [...call.caller.workshop.jobs.values()].filter((job) => fits(job, query)).sort(order);
  const rest = typeof cursor === 'string' ? after(found, readCursor(cursor, query), query) : found;
  const data = rest.slice(0, pageSize);
  const last = data.at(-1);
  const next = rest.length > pageSize && last !== undefined ? nextPage(call, query, last) : null;
  return { status: 200, body: { data, next } };
}

function keyOf(job: Job, query: JsonObject): string | number {
  return job[String(query.sort) as 'number' | 'title' | 'priority' | 'createdAt'];
}

function orderOf(query: JsonObject): (one: Job, other: Job) => number {
  const sign = query.order === 'desc' ? -1 : 1;
  return (one, other) => sign * compare(keyOf(one, query), keyOf(other, query)) || compare(one.id, other.id);
}

/** Jobs after a cursor, even if its job has been deleted. */
function after(jobs: readonly Job[], { key, id }: Cursor, query: JsonObject): Job[] {
  const sign = query.order === 'desc' ? -1 : 1;
  return jobs.filter((job) => (sign * compare(keyOf(job, query), key) || compare(job.id, id)) > 0);
}

/** The same query with another cursor. */
function nextPage(call: Call<Caller>, query: JsonObject, last: Job): string {
  const cursor: Cursor = { query: JSON.stringify(query), key: keyOf(last, query), id: last.id };
  const kept = (call.request.url.split('?')[1] ?? '')
    .split('&')
    .filter((part) => part !== '' && !part.startsWith('cursor='));
  return `/jobs?${[...kept.map(encoded), `cursor=${digest(cursor)}`].join('&')}`;
}

/** Characters that clients may send unencoded, such as brackets, but that a URI must not contain. */
function encoded(part: string): string {
  return part.replaceAll(
    /[^\w\-.~!$'()*+,;=:@/?%]/g,
    (character) => `%${Buffer.from(character, 'latin1').toString('hex')}`,
  );
}

/** Fixed length for any query, because cursors have a maximum length. */
function digest(cursor: Cursor): string {
  let sum = 0;
  for (const character of cursor.query) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 2_147_483_647;
  return Buffer.from(JSON.stringify([sum, cursor.key, cursor.id])).toString('base64url');
}

function readCursor(text: string, query: JsonObject): Cursor {
  try {
    const [, key, id] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [number, string | number, string];
    const cursor = { query: JSON.stringify(query), key, id };
    if (digest(cursor) === text) return cursor;
  } catch {
    // Rejected below, like a cursor of another query.
  }
  throw rejection(400, 'the cursor is not of this query');
}

function fits(job: Job, { filter, tags, numbers }: JsonObject): boolean {
  const expected = Object.entries((filter ?? {}) as JsonObject);
  return (
    expected.every(([name, value]) => (name === 'toolId' ? sameId(job.toolId, value) : job[name] === value)) &&
    (!Array.isArray(tags) || tags.every((tag) => job.tags.includes(String(tag)))) &&
    (!Array.isArray(numbers) || numbers.includes(job.number))
  );
}

function sameId(one: string, other: JsonObject[string]): boolean {
  return one === String(other).toLowerCase();
}

function createJob(call: Call<Caller>, nextId: () => string): Result {
  const { workshop } = call.caller;
  const { doorCode: _, ...input } = call.body.value as JsonObject;
  const toolId = String(input.toolId).toLowerCase();
  if (!workshop.tools.has(toolId)) throw rejection(422, 'the tool does not exist', {}, '/toolId');
  workshop.lastNumber += 1;
  const own = { id: nextId(), number: workshop.lastNumber, toolId, createdAt: new Date().toISOString() };
  const job = { ...jobDefaults(), ...input, ...own } as unknown as Job;
  workshop.jobs.set(job.id, job);
  return { status: 201, headers: { location: `/jobs/${job.id}` }, body: job };
}

function deleteJob(call: Call<Caller>): Result {
  call.caller.workshop.jobs.delete(jobOf(call).id);
  return { status: 204 };
}

function createReport(call: Call<Caller>, nextId: () => string): Result {
  const { subject, months = 12 } = call.body.value as { subject: string; months?: number };
  const report = { id: nextId(), subject, months, createdAt: new Date().toISOString() };
  call.caller.workshop.reports.set(report.id, report);
  return { status: 202, headers: { location: `/reports/${report.id}`, 'retry-after': '1' }, body: presented(report) };
}

function isDone(report: Report): boolean {
  return Date.now() - Date.parse(report.createdAt) >= reportDelay;
}

function presented(report: Report) {
  const { createdAt, ...rest } = report;
  const done = isDone(report);
  return { ...rest, state: done ? 'done' : 'pending', rows: done ? `/reports/${report.id}/rows` : null, createdAt };
}

function reportOf({ caller, values }: Call<Caller>): Report {
  const report = caller.workshop.reports.get(String(values.path.reportId).toLowerCase());
  if (report === undefined) throw rejection(404, 'there is no such report');
  return report;
}

function deleteReport(call: Call<Caller>): Result {
  call.caller.workshop.reports.delete(reportOf(call).id);
  return { status: 204 };
}

function getRows(call: Call<Caller>): Result {
  const report = reportOf(call);
  if (!isDone(report)) throw rejection(409, 'the report is not done yet');
  const { tools, jobs } = call.caller.workshop;
  const from = Date.parse(report.createdAt) - report.months * 31 * 24 * 60 * 60 * 1000;
  const rows =
    report.subject === 'tools'
      ? [...tools.values()].map(({ id, name, createdAt }) => ({ id, name, createdAt }))
      : [...jobs.values()].map(({ id, title, createdAt }) => ({ id, name: title, createdAt }));
  const lines = rows
    .filter(({ createdAt }) => Date.parse(createdAt) >= from)
    .map(({ id, name }) => `${id},${quoted(name)}`);
  return {
    status: 200,
    headers: { 'content-disposition': `attachment; filename="${report.subject}.csv"` },
    mediaType: 'text/csv; charset=utf-8',
    body: ['id,name', ...lines, ''].join('\r\n'),
  };
}

/** RFC 4180 */
function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
