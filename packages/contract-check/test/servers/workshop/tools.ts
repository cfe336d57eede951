import type { Upload } from '../kit/body.ts';
import type { JsonObject } from '../kit/contract.ts';
import { rejection } from '../kit/rejection.ts';
import type { Call, Handler, Result } from '../kit/serve.ts';
import type { Photo, Tool, Workshop } from './store.ts';

export type Caller = { readonly workshop: Workshop };

/** Maximum number of stored keys. */
const maxReplays = 10_000;

export function toolHandlers(nextId: () => string): Record<string, Handler<Caller>> {
  return {
    listTools,
    createTool: (call) => createTool(call, nextId),
    getTool,
    headTool: getTool,
    replaceTool,
    changeTool,
    deleteTool,
    addPhoto: (call) => addPhoto(call, nextId),
    getPhoto,
    getInventory,
  };
}

/** @throws Rejection with 404 */
function toolOf({ caller, values }: Call<Caller>): Tool {
  const tool = caller.workshop.tools.get(String(values.path.toolId).toLowerCase());
  if (tool === undefined) throw rejection(404, 'the tool does not exist');
  return tool;
}

function etagOf(workshop: Workshop, tool: Tool): string {
  return `"${tool.id.slice(-6)}-${workshop.versions.get(tool.id)}"`;
}

function shown(workshop: Workshop, tool: Tool): Result {
  return { status: 200, headers: { etag: etagOf(workshop, tool) }, body: tool };
}

function listTools({ caller, values }: Call<Caller>): Result {
  const { limit, offset, orderBy, ...filters } = values.query as JsonObject & { limit: number; offset: number };
  const found = [...caller.workshop.tools.values()].filter((tool) => fits(tool, filters)).sort(by(String(orderBy)));
  const items = found.slice(offset, offset + limit);
  const next = new URLSearchParams(queryPairs({ ...filters, orderBy, limit, offset: offset + limit }));
  const link = offset + limit < found.length ? { link: `</tools?${next}>; rel="next"` } : {};
  return {
    status: 200,
    headers: { 'x-total-count': String(found.length), ...link },
    body: { items, total: found.length, limit, offset },
  };
}

function queryPairs(values: Record<string, unknown>): string[][] {
  return Object.entries(values).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]));
}

function fits(tool: Tool, filters: JsonObject): boolean {
  const { kind, state, minPrice, maxPrice, boughtFrom, boughtTo, search } = filters;
  return (
    (!Array.isArray(kind) || kind.includes(tool.kind)) &&
    (state === undefined || tool.state === state) &&
    (typeof minPrice !== 'number' || tool.price >= minPrice) &&
    (typeof maxPrice !== 'number' || tool.price <= maxPrice) &&
    (typeof boughtFrom !== 'string' || tool.boughtOn >= boughtFrom) &&
    (typeof boughtTo !== 'string' || tool.boughtOn <= boughtTo) &&
    (typeof search !== 'string' || tool.name.toLowerCase().includes(search.toLowerCase()))
  );
}

/** Tools that are equal in the order are ordered by ID, so that pages neither overlap nor have gaps. */
function by(orderBy: string): (one: Tool, other: Tool) => number {
  const sign = orderBy.startsWith('-') ? -1 : 1;
  const key = orderBy.replace('-', '') as 'name' | 'price' | 'boughtOn';
  return (one, other) => sign * compare(one[key], other[key]) || compare(one.id, other.id);
}

export function compare(one: string | number, other: string | number): number {
  if (typeof one === 'number' || typeof other === 'number') return Number(one) - Number(other);
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function createTool(call: Call<Caller>, nextId: () => string): Result {
  const { workshop } = call.caller;
  const input = call.body.value as JsonObject;
  const key = call.values.header['Idempotency-Key'];
  const fingerprint = JSON.stringify(input);
  const replay = typeof key === 'string' ? workshop.replays.get(key) : undefined;
  if (replay !== undefined && replay.fingerprint !== fingerprint) {
    throw rejection(409, 'the key was used for another request');
  }
  if (replay !== undefined) return created(replay.tool, `"${replay.toolId.slice(-6)}-1"`);
  rejectTwice(workshop, input);
  const now = new Date().toISOString();
  const tool = toolFrom(input, { id: nextId(), createdAt: now, updatedAt: now });
  workshop.tools.set(tool.id, tool);
  workshop.versions.set(tool.id, 1);
  if (typeof key === 'string') remember(workshop, key, { fingerprint, toolId: tool.id, tool });
  return created(tool, etagOf(workshop, tool));
}

function created(tool: Tool, etag: string): Result {
  return { status: 201, headers: { location: `/tools/${tool.id}`, etag }, body: tool };
}

function remember(
  workshop: Workshop,
  key: string,
  replay: Workshop['replays'] extends Map<string, infer R> ? R : never,
) {
  workshop.replays.set(key, replay);
  const [oldest] = workshop.replays.keys();
  if (workshop.replays.size > maxReplays && oldest !== undefined) workshop.replays.delete(oldest);
}

function toolFrom(input: JsonObject, fixed: Pick<Tool, 'id' | 'createdAt' | 'updatedAt'>): Tool {
  const { id, createdAt, updatedAt } = fixed;
  return { id, state: 'available', note: null, ...input, createdAt, updatedAt } as Tool;
}

/** @throws Rejection with 409 if another tool has the serial. */
function rejectTwice(workshop: Workshop, { serial }: JsonObject, own?: string): void {
  if (serial === undefined || serial === null) return;
  const other = [...workshop.tools.values()].find((tool) => tool.serial === serial && tool.id !== own);
  if (other !== undefined) throw rejection(409, 'another tool has this serial', {}, '/serial');
}

function getTool(call: Call<Caller>): Result {
  const tool = toolOf(call);
  const result = shown(call.caller.workshop, tool);
  const etag = etagOf(call.caller.workshop, tool);
  const known = call.values.header['If-None-Match'];
  // Weak comparison (RFC 9110, 13.1.2).
  const isKnown = typeof known === 'string' && tags(known).some((tag) => tag === '*' || tag.replace('W/', '') === etag);
  return isKnown ? { status: 304, headers: { etag } } : result;
}

function tags(text: string): string[] {
  return text.match(/\*|(W\/)?"[^"]*"/g) ?? [];
}

/** @throws Rejection with 412 if the caller's version is not the current one. */
function requireVersion(call: Call<Caller>, tool: Tool): void {
  const known = call.values.header['If-Match'];
  if (typeof known !== 'string') return;
  const etag = etagOf(call.caller.workshop, tool);
  // Strong comparison (RFC 9110, 13.1.1): a weak tag never matches.
  if (!tags(known).some((tag) => tag === '*' || tag === etag)) {
    throw rejection(412, 'the tool has changed since');
  }
}

function replaceTool(call: Call<Caller>): Result {
  const tool = toolOf(call);
  requireVersion(call, tool);
  return store(call, tool, toolFrom(call.body.value as JsonObject, { ...tool, updatedAt: tool.updatedAt }));
}

function changeTool(call: Call<Caller>): Result {
  const tool = toolOf(call);
  requireVersion(call, tool);
  const merged = merge(tool as unknown as JsonObject, call.body.value as JsonObject);
  return store(call, tool, { note: null, ...merged } as unknown as Tool);
}

/** RFC 7396 */
function merge(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = { ...target };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else if (typeof value === 'object' && !Array.isArray(value)) merged[name] = merge(objectOf(target[name]), value);
    else merged[name] = value;
  }
  return merged;
}

function objectOf(value: JsonObject[string] | undefined): JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}

/** An update without changes keeps the version. */
function store(call: Call<Caller>, before: Tool, after: Tool): Result {
  const { workshop } = call.caller;
  rejectTwice(workshop, after as unknown as JsonObject, before.id);
  if (sorted(before) === sorted(after)) return shown(workshop, before);
  const updated = { ...after, updatedAt: new Date().toISOString() };
  workshop.tools.set(before.id, updated);
  workshop.versions.set(before.id, (workshop.versions.get(before.id) ?? 0) + 1);
  return shown(workshop, updated);
}

function sorted(tool: Tool): string {
  return JSON.stringify(Object.entries(tool).sort(([one], [other]) => compare(one, other)));
}

function deleteTool(call: Call<Caller>): Result {
  const { workshop } = call.caller;
  const tool = toolOf(call);
  requireVersion(call, tool);
  if ([...workshop.jobs.values()].some((job) => job.toolId === tool.id)) {
    throw rejection(409, 'there are jobs for this tool');
  }
  workshop.tools.delete(tool.id);
  workshop.versions.delete(tool.id);
  for (const [id, { photo }] of workshop.photos) if (photo.toolId === tool.id) workshop.photos.delete(id);
  return { status: 204 };
}

function addPhoto(call: Call<Caller>, nextId: () => string): Result {
  const tool = toolOf(call);
  const { caption, focus } = call.body.value as JsonObject;
  const { file } = call.body.files as { file?: Upload };
  if (file === undefined) throw rejection(422, 'the part file must be a file', {}, '/file');
  const { mediaType, bytes } = file;
  const photo = {
    id: nextId(),
    toolId: tool.id,
    caption,
    mediaType,
    size: bytes.length,
    ...(focus && { focus }),
  } as Photo;
  call.caller.workshop.photos.set(photo.id, { photo, bytes });
  return { status: 201, headers: { location: `/tools/${tool.id}/photos/${photo.id}` }, body: photo };
}

function getPhoto(call: Call<Caller>): Result {
  const tool = toolOf(call);
  const found = call.caller.workshop.photos.get(String(call.values.path.photoId).toLowerCase());
  if (found === undefined || found.photo.toolId !== tool.id) throw rejection(404, 'there is no such photo');
  return { status: 200, mediaType: found.photo.mediaType, body: found.bytes };
}

function getInventory({ caller, values }: Call<Caller>): Result {
  const { kinds } = values.query;
  const { least, most } = objectOf(values.query.price);
  const counts: Record<string, number> = {};
  for (const tool of caller.workshop.tools.values()) {
    const filters = { ...(kinds && { kind: kinds }), ...(least !== undefined && { minPrice: least }) };
    if (!fits(tool, { ...filters, ...(most !== undefined && { maxPrice: most }) })) continue;
    counts[tool.kind] = (counts[tool.kind] ?? 0) + 1;
  }
  return { status: 200, headers: { deprecation: '@1735689600' }, body: counts };
}
