import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Ajv } from 'ajv';
import formatsModule from 'ajv-formats';
import YAML from 'yaml';
import { drifts } from './drifts.mjs';

const addFormats = formatsModule.default ?? formatsModule;
const SPEC = YAML.parse(readFileSync(new URL('./openapi.yaml', import.meta.url), 'utf8'));
const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

const deref = (node) => {
  if (Array.isArray(node)) return node.map(deref);
  if (!node || typeof node !== 'object') return node;
  if (typeof node.$ref === 'string') return deref(node.$ref.slice(2).split('/').reduce((a, k) => a[k], SPEC));
  return Object.fromEntries(Object.entries(node).map(([k, v]) => [k, k === 'mapping' ? v : deref(v)]));
};
const toJsonSchema = (s) => {
  if (Array.isArray(s)) return s.map(toJsonSchema);
  if (!s || typeof s !== 'object') return s;
  const o = {};
  for (const [k, v] of Object.entries(s)) {
    if (['example', 'description', 'discriminator', 'nullable', 'default'].includes(k)) continue;
    if (k === 'properties') o.properties = Object.fromEntries(Object.entries(v).map(([n, p]) => [n, toJsonSchema(p)]));
    else if (k === 'enum' || k === 'required') o[k] = v;
    else if (k === 'exclusiveMinimum' || k === 'exclusiveMaximum') continue;
    else o[k] = toJsonSchema(v);
  }
  if (s.exclusiveMinimum === true) { o.exclusiveMinimum = s.minimum; delete o.minimum; }
  if (s.exclusiveMaximum === true) { o.exclusiveMaximum = s.maximum; delete o.maximum; }
  if (s.nullable && s.type) o.type = [s.type, 'null'];
  return o;
};

class Stop extends Error { constructor(r) { super('stop'); this.r = r; } }
const TITLES = { 400: 'Bad request', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not found', 405: 'Method not allowed', 406: 'Not acceptable',
  409: 'Conflict', 412: 'Precondition failed', 413: 'Payload too large', 415: 'Unsupported media type', 422: 'Unprocessable content', 500: 'Internal error' };
export const problem = (status, detail, extra = {}, headers = {}) => ({ status, headers, type: 'application/problem+json',
  body: { type: 'about:blank', title: TITLES[status], status, ...(detail ? { detail } : {}), ...extra } });
const fail = (...a) => { throw new Stop(problem(...a)); };
const invalid = (errors) => fail(422, 'The body does not match its schema.', { errors });

export const time = (s) => {
  const t = Date.parse(s.replace(/^(.{10})[ tT_]/, '$1T').replace(/z$/, 'Z').replace(/:60(?=[.Z+-])/, ':59').replace(/(\.\d{3})\d+/, '$1')
    .replace(/([+-]\d\d)(\d\d)$/, '$1:$2').replace(/([+-]\d\d)$/, '$1:00'));
  return Number.isNaN(t) ? 0 : t;
};
const round = (n, d) => Number(n.toFixed(d));
const fold = (s) => s.toLowerCase();
const BASE = ['id', 'plate_number', 'vin', 'make', 'model', 'year', 'status', 'fuel_type', 'odometer_km', 'capacity_kg', 'purchase_price', 'depot',
  'tags', 'attributes', 'notes', 'insured_until', 'driver_id', 'trips_count', 'created_at', 'updated_at', 'deleted_at'];

const seed = () => {
  const world = { seq: { vehicle: 0, trip: 0, driver: 100, document: 500 }, last: 0, acme: null, borealis: null };
  const makes = ['MAN', 'Volvo', 'iveco', 'Mercedes-Benz', 'Scania', 'DAF'];
  const models = ['TGX 18.510', 'FH16', 'Daily 35', 'Actros 1845', 'R 450', 'XF 480'];
  const cities = [['Hamburg', 'DE', '20095'], ['Kiel', 'DE', null], ['Wien', 'AT', '1010'], ['Rotterdam', 'NL', '3011 AD'], ['Aarhus', 'DK', '8000']];
  for (const [tenant, count] of [['acme', 26], ['borealis', 6]]) {
    const t = (world[tenant] = { vehicles: [], trips: [], drivers: [], documents: [], keys: new Map() });
    const firsts = ['Anna', 'Ben', 'Cem', 'Dora', 'Emil', 'Finja'], lasts = ['Albrecht', 'Berger', 'Çelik', 'de Vries', 'Eriksen'];
    const classes = [['B'], ['B', 'C1'], ['C', 'CE'], ['B', 'C', 'CE'], ['D'], ['B', 'D']];
    for (let i = 0; i < (tenant === 'acme' ? 24 : 4); i++) t.drivers.push({ id: ++world.seq.driver, first_name: firsts[(i * 5) % 6], last_name: lasts[(i * 3) % 5],
      email: i % 7 === 3 ? null : `driver${world.seq.driver}@haulboard.example`, licence_classes: classes[i % 6], hired_on: `20${10 + (i * 7) % 14}-0${1 + i % 9}-1${i % 10}`, active: i % 4 !== 2 });
    for (let i = 0; i < count; i++) {
      const id = ++world.seq.vehicle;
      const created = new Date(Date.UTC(2023, (i * 5) % 18, 1 + ((i * 11) % 27), 8, (i * 13) % 60)).toISOString();
      const [city, country, postal_code] = cities[(i * 3) % 5];
      t.vehicles.push({ id, plate_number: `${['HH', 'KI', 'HB'][i % 3]}-${['AB', 'X', 'ZT', 'K'][(i * 3) % 4]} ${1000 + ((i * 377 + id * 31) % 8999)}`,
        vin: i % 4 === 1 ? null : `WDB9634031L${String(100000 + i * 7919 + id)}`.slice(0, 17), make: makes[(i * 5) % 6], model: models[(i * 5) % 6], year: 2012 + ((i * 7) % 12),
        status: ['available', 'in_use', 'maintenance', 'retired', 'available'][i % 5], fuel_type: ['diesel', 'diesel', 'electric', 'hybrid', 'petrol'][(i * 2) % 5],
        odometer_km: round(((i * 48271) % 4000) * 100.7, 1), capacity_kg: [18000, 24500.5, 3500, 12000][i % 4], purchase_price: i % 5 === 2 ? null : round(20000 + ((i * 7717) % 90) * 1000.25, 2),
        depot: i % 6 === 5 ? { city, country } : { city, country, postal_code }, tags: [['long-haul', 'adr'], [], ['city'], ['adr'], ['cooled', 'long-haul']][(i * 2) % 5],
        attributes: i % 3 ? {} : { colour: ['white', 'blue'][i % 2], fleet_card: `FC-${id}` }, notes: i % 3 === 1 ? null : `Checked in week ${i + 3}.`, insured_until: i % 4 === 2 ? null : `2027-0${1 + (i % 9)}-28`,
        driver_id: i % 3 === 2 ? null : t.drivers[i % t.drivers.length].id, created_at: created, updated_at: new Date(Date.parse(created) + i * 3600e3).toISOString(),
        deleted_at: tenant === 'acme' && (i === 11 || i === 19) ? '2025-02-01T12:00:00.000Z' : null });
    }
    t.vehicles.forEach((v, i) => {
      const n = tenant === 'acme' ? (i === 0 ? 23 : i === 6 ? 7 : i === 1 ? 0 : i % 4) : 2;
      for (let k = 0; k < n; k++) {
        const common = { id: ++world.seq.trip, vehicle_id: v.id, started_at: new Date(Date.UTC(2024, (k * 5) % 12, 1 + ((k * 7) % 27), 6 + (k % 3 === 0 ? 0 : k % 9))).toISOString(),
          duration_min: 30 + ((k * 97 + i) % 600), distance_km: round(((k * 733 + i * 57) % 9000) / 10, 1), fuel_l: k % 4 === 3 ? null : round(((k * 431 + i) % 9000) / 100, 2) };
        if (k === 4) common.started_at = new Date(Date.UTC(2024, 0, 1, 6)).toISOString();
        const created_at = new Date(time(common.started_at) + 86400e3).toISOString();
        t.trips.push(k % 3 === 2
          ? { ...common, kind: 'transfer', to_city: ['Bremen', 'Graz', 'Kiel'][k % 3], reason: ['rebalancing', 'repair', 'sale'][(k + i) % 3], created_at }
          : { ...common, kind: 'delivery', cargo_kg: 500 + ((k * 919) % 9000), stops: [{ address: `Kaistrasse ${k + 1}, Kiel`, latitude: 54.3, longitude: 10.1 }, { address: 'Hauptplatz 1, Linz' }].slice(0, 1 + (k % 2)), created_at });
      }
    });
    const bytes = Buffer.from('%PDF-1.4 seed\n');
    t.documents.push({ id: ++world.seq.document, vehicle_id: t.vehicles[0].id, title: 'Registration', bytes });
  }
  return world;
};
const KEYS = { 'key-acme-full-7d1f': { tenant: 'acme' }, 'key-acme-read-21c4': { tenant: 'acme', readOnly: true }, 'key-borealis-full-90aa': { tenant: 'borealis' }, 'key-acme-old-55e0': { expired: true } };
const SESSIONS = { 'sess-acme-3b77': { tenant: 'acme' }, 'sess-borealis-08d2': { tenant: 'borealis' }, 'sess-acme-old-1a1a': { expired: true } };
const who = (key, session) => ({ 'X-Api-Key': key, Cookie: `fleet_session=${session}` });
export const auth = {
  caller: () => who('key-acme-full-7d1f', 'sess-acme-3b77'),
  expired: () => who('key-acme-old-55e0', 'sess-acme-old-1a1a'),
  forbidden: () => who('key-acme-read-21c4', 'sess-acme-3b77'),
  otherTenant: () => who('key-borealis-full-90aa', 'sess-borealis-08d2'),
};

export const start = async (drift) => {
  const D = drift ? drifts.find((d) => d.name === drift) : undefined;
  if (drift && !D) throw new Error(`no drift ${drift}`);
  const on = (name) => drift === name;
  const W = seed();
  const doc = deref(SPEC);
  const ops = {};
  const routes = [];
  for (const [path, item] of Object.entries(doc.paths)) {
    const route = { segments: path.slice(1).split('/'), methods: {}, fixed: !path.includes('{') };
    for (const m of METHODS) if (item[m]) {
      const op = item[m];
      op.parameters = [...(item.parameters ?? []), ...(op.parameters ?? [])].map((p) => structuredClone(p));
      route.methods[m.toUpperCase()] = ops[op.operationId] = op;
    }
    routes.push(route);
  }
  routes.sort((a, b) => b.fixed - a.fixed);
  const tool = {
    param: (op, name) => ops[op].parameters.find((p) => p.name === name),
    body: (op) => Object.values(ops[op].requestBody.content)[0].schema,
    op: (op) => ops[op],
  };
  D?.spec?.(tool);
  const ajv = new Ajv({ strict: false, allErrors: true, multipleOfPrecision: 6, coerceTypes: false });
  addFormats(ajv);
  ajv.addFormat('binary', true);
  const cache = new Map();
  const check = (schema, value) => {
    let f = cache.get(schema);
    if (!f) cache.set(schema, (f = ajv.compile(toJsonSchema(schema))));
    return f(value) ? [] : f.errors;
  };
  const now = () => { W.last = Math.max(Date.now(), W.last + 1); return new Date(W.last).toISOString(); };

  const scalar = (text, schema) => {
    if (schema.type === 'integer') return /^-?(0|[1-9]\d*)$/.test(text) ? Number(text) : text;
    if (schema.type === 'number') return /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
    if (schema.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
    return text;
  };
  const decode = (s, plus = true) => { try { return decodeURIComponent(plus ? s.replaceAll('+', ' ') : s); } catch { return fail(400, 'Percent encoding is broken.'); } };
  const parameter = (p, value) => {
    const errors = check(p.schema, value);
    if (errors.length) fail(400, `${p.in} parameter ${p.name}: ${errors[0].instancePath} ${errors[0].message}`);
    return value;
  };
  const parseQuery = (op, raw) => {
    const out = {};
    const seen = new Map();
    for (const pair of raw ? raw.split('&') : []) {
      if (pair === '') continue;
      const at = pair.indexOf('=');
      const name = decode(at < 0 ? pair : pair.slice(0, at)), rawValue = at < 0 ? '' : pair.slice(at + 1);
      seen.set(name, [...(seen.get(name) ?? []), rawValue]);
    }
    for (const [name, values] of seen) {
      const deep = /^([^[\]]+)\[([^[\]]+)\]$/.exec(name);
      const p = op.parameters.find((x) => x.in === 'query' && (deep ? x.style === 'deepObject' && x.name === deep[1] : x.style !== 'deepObject' && x.name === name));
      if (!p) { if (D?.ignoreUnknown === op.operationId) continue; fail(400, `Unknown query parameter ${name.slice(0, 80)}.`); }
      if (deep) {
        const s = p.schema.properties[deep[2]];
        if (!s || !Object.hasOwn(p.schema.properties, deep[2])) { if (D?.ignoreFilter === op.operationId) continue; fail(400, `Unknown member of filter ${deep[2].slice(0, 80)}.`); }
        if (values.length > 1) fail(400, `${name} is there twice.`);
        (out[p.name] ??= {})[deep[2]] = scalar(decode(values[0]), s);
      } else if (p.schema.type === 'array') {
        if (p.explode === false && values.length > 1) fail(400, `${name} is there twice.`);
        out[name] = (p.explode === false ? values[0].split(',') : values).map((v) => scalar(decode(v), p.schema.items));
      } else {
        if (values.length > 1) fail(400, `${name} is there twice.`);
        out[name] = scalar(decode(values[0]), p.schema);
      }
    }
    for (const p of op.parameters) if (p.in === 'query') {
      if (out[p.name] !== undefined) parameter(p, out[p.name]);
      else if (p.required) fail(400, `${p.name} is missing.`);
      else if (p.schema.default !== undefined) out[p.name] = p.schema.default;
    }
    return out;
  };
  const pointers = (errors, prefix = '') => {
    const found = new Map();
    for (const e of errors) {
      let p = prefix + e.instancePath;
      if (e.keyword === 'required') p += `/${e.params.missingProperty}`;
      if (e.keyword === 'additionalProperties') p += `/${e.params.additionalProperty.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      if (!found.has(p) && found.size < 20) found.set(p, { pointer: p, message: e.message });
    }
    return [...found.values()];
  };
  const validate = (schema, value) => {
    if (schema.oneOf && schema.discriminator) {
      if (!value || typeof value !== 'object' || Array.isArray(value)) return invalid([{ pointer: '', message: 'must be object' }]);
      const branch = schema.oneOf.find((b) => b.properties.kind.enum.includes(value.kind));
      if (!branch) return invalid([{ pointer: '/kind', message: 'must be one of the kinds' }]);
      schema = branch;
    }
    const errors = check(schema, value);
    if (errors.length) invalid(pointers(errors));
  };
  const utf8 = (buffer, status = 400) => { try { return new TextDecoder('utf-8', { fatal: true }).decode(buffer); } catch { return fail(status, 'The body is not UTF-8.'); } };
  const multipart = (buffer, boundary) => {
    const mark = Buffer.from(`--${boundary}`), out = {};
    let at = buffer.indexOf(mark);
    if (at < 0) fail(400, 'The multipart body has no boundary.');
    for (;;) {
      let from = at + mark.length;
      if (buffer.subarray(from, from + 2).toString() === '--') return out;
      if (buffer.subarray(from, from + 2).toString() !== '\r\n') fail(400, 'The multipart body is broken.');
      from += 2;
      const end = buffer.indexOf(Buffer.concat([Buffer.from('\r\n'), mark]), from - 2);
      if (end < 0) fail(400, 'The multipart body does not end.');
      const head = buffer.indexOf('\r\n\r\n', from);
      if (head < 0 || head > end) fail(400, 'A part has no headers.');
      const headers = buffer.subarray(from, head).toString('utf8');
      const name = /content-disposition:[^\r\n]*[; ]name="([^"]*)"/i.exec(headers)?.[1] ?? /content-disposition:[^\r\n]*[; ]name=([^;\s"]+)/i.exec(headers)?.[1];
      if (name === undefined) fail(400, 'A part has no name.');
      const data = buffer.subarray(head + 4, Math.max(end, head + 4));
      if (Object.hasOwn(out, name)) invalid([{ pointer: `/${name}`, message: 'is there twice' }]);
      Object.defineProperty(out, name, { value: Buffer.from(data), enumerable: true });
      at = end + 2;
    }
  };
  const parseBody = (op, type, buffer) => {
    const content = op.requestBody.content;
    const media = type.split(';')[0].trim().toLowerCase();
    if (!content[media]) {
      if (D?.anyMedia === op.operationId && media && media !== 'multipart/form-data') { /* taken as JSON or form */ } else fail(415, `Send ${Object.keys(content)[0]}.`);
    }
    const kind = Object.keys(content)[0], schema = content[kind].schema;
    if (kind === 'application/json') {
      let value;
      if (!buffer.length) fail(400, 'The body is empty.');
      if (on('dup-key-500') && /"(\w+)"\s*:[^{}[\]]*,\s*"\1"\s*:/.test(buffer.toString())) throw new Error('dup');
      if (on('lenient-json')) buffer = Buffer.from(buffer.toString().replace(/,\s*}/g, '}'));
      const text = utf8(buffer);
      try { value = JSON.parse(text); } catch { fail(400, 'The body is no JSON.'); }
      D?.coerce?.(op.operationId, value);
      validate(schema, value);
      return value;
    }
    if (kind === 'application/x-www-form-urlencoded') {
      const out = {};
      for (const pair of utf8(buffer).split('&')) {
        if (!pair) continue;
        const at = pair.indexOf('=');
        const name = decode(at < 0 ? pair : pair.slice(0, at)), value = decode(at < 0 ? '' : pair.slice(at + 1));
        if (Object.hasOwn(out, name)) invalid([{ pointer: `/${name}`, message: 'is there twice' }]);
        Object.defineProperty(out, name, { value: scalar(value, (Object.hasOwn(schema.properties, name) && schema.properties[name]) || {}), enumerable: true, writable: true });
      }
      validate(schema, out);
      return out;
    }
    const boundary = /boundary=(?:"([^"]{1,100})"|([^;\s]{1,100}))/i.exec(type);
    if (!boundary) fail(400, 'There is no boundary.');
    const parts = multipart(buffer, boundary[1] ?? boundary[2]), value = {};
    for (const [n, b] of Object.entries(parts)) Object.defineProperty(value, n, { value: n === 'file' ? '' : utf8(b, 400), enumerable: true });
    validate(schema, value);
    return { ...value, file: parts.file };
  };

  // what the handlers share
  const base = (t, v, row = false) => {
    const trips = t.trips.filter((x) => x.vehicle_id === v.id).length;
    const o = { ...v, trips_count: on('count-list-disagrees') && row ? Math.max(0, trips - 1) : on('count-not-after-delete') ? trips + (v.gone ?? 0) : trips };
    delete o.gone;
    return JSON.parse(JSON.stringify(Object.fromEntries(BASE.map((k) => [k, o[k]]))));
  };
  const sortTrips = (list, dir) => list.sort((a, b) => dir * (time(a.started_at) - time(b.started_at)) || (on('trip-ties-desc') ? b.id - a.id : a.id - b.id));
  const tripsOf = (t, v) => t.trips.filter((x) => x.vehicle_id === v.id);
  const expand = (t, v, o, include, row = false) => {
    if (on('include-ignored') || (on('include-ignored-in-list') && row)) return o;
    if (include?.includes('driver')) {
      const d = t.drivers.find((x) => x.id === (on('include-wrong-driver') ? (v.driver_id === null ? null : t.drivers[(t.drivers.findIndex((y) => y.id === v.driver_id) + 1) % t.drivers.length].id) : v.driver_id));
      o.driver = d ? structuredClone(d) : null;
    }
    if (include?.includes('recent_trips') && !(on('include-second-lost') && include.length > 1))
      o.recent_trips = structuredClone(sortTrips(tripsOf(t, v), on('recent-trips-oldest') ? 1 : -1).slice(0, 3));
    return o;
  };
  const hash = (x) => createHash('sha256').update(JSON.stringify(x)).digest('hex').slice(0, 16);
  const etag = (t, v) => (on('etag-constant') ? `"v${v.id}"` : on('etag-random') ? `"${randomUUID().slice(0, 16)}"` : `"${hash(base(t, v))}"`);
  const vehicle = (t, id, deleted = false) => {
    if (on('cross-tenant-read')) for (const other of [W.acme, W.borealis]) { const x = other.vehicles.find((y) => y.id === id && (deleted || !y.deleted_at)); if (x) return x; }
    return t.vehicles.find((x) => x.id === id && (deleted || !x.deleted_at)) ?? fail(404, `There is no vehicle ${id}.`);
  };
  const tagsIn = (s) => (s.match(/(?:W\/)?"[^"]*"/g) ?? []).map((x) => x.replace(/^W\//, '').replace(/\.[0-9a-f]+"$/, '"'));
  const precondition = (c, v, name) => {
    const h = c.headers['if-match'];
    if (h === undefined || on(`if-match-ignored-${name}`) || h.trim() === '*') return;
    if (!tagsIn(h).includes(etag(c.t, v))) fail(412, 'The vehicle was changed.');
  };
  const plateFree = (t, plate, self) => {
    if (on('plate-duplicate-accepted')) return true;
    return !t.vehicles.some((x) => x.plate_number === plate && x.id !== self && (!x.deleted_at || on('deleted-plate-taken')));
  };
  const fresh = (input) => ({ vin: null, status: on('create-default-status') ? 'maintenance' : 'available', odometer_km: 0, purchase_price: null, tags: [], attributes: {}, notes: null, insured_until: null, ...input });
  const addVehicle = (t, input) => {
    const at = now();
    const v = { id: ++W.seq.vehicle, ...fresh(input), driver_id: null, created_at: at, updated_at: at, deleted_at: null };
    if (!on('create-not-stored')) t.vehicles.push(v);
    return v;
  };
  const change = (t, v, fields) => { Object.assign(v, fields); if (!on('updated-at-stays')) v.updated_at = now(); if (on('created-at-moves')) v.created_at = v.updated_at; };
  const changed = (t, v) => ({ status: 200, headers: { ETag: etag(t, v) }, body: base(t, v) });
  const remove = (t, v) => { v.deleted_at = now(); if (!on('delete-updated-at')) v.updated_at = v.deleted_at; };
  const paged = (c, path, key, rows, row) => {
    const { page, per_page } = c.query;
    const size = on('per-page-ignored') && key === 'trips' ? 20 : on('per-page-off-by-one') && key === 'drivers' ? Math.max(1, per_page - 1) : per_page;
    const total = rows.length, pages = Math.ceil(total / size);
    const at = on('page-ignored') && key === 'drivers' ? 0 : on('page-two-overlaps') && page > 1 ? (page - 1) * size - 1 : (page - 1) * size;
    const link = (n, rel) => {
      const rest = (c.rawQuery ?? '').split('&').filter((x) => x && !/^page(=|$)/.test(x));
      if (on('link-loses-parameters')) rest.length = 0;
      return `<${path}?${[...rest, `page=${n}`].join('&').replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll('"', '%22').replaceAll(' ', '%20')}>; rel="${rel}"`;
    };
    const links = [link(1, 'first')];
    if (page > 1 && page <= pages + 1) links.push(link(page - 1, 'prev'));
    if (page < pages && !(on('link-next-missing') && key === 'trips')) links.push(link(on('link-next-same') ? page : page + 1, 'next'));
    links.push(link(Math.max(1, pages), 'last'));
    const part = rows.slice(at, at + size);
    return { status: 200, headers: { Link: links.join(', ') }, body: { [key]: part.map(row), meta: { page, per_page, total_pages: pages, total_count: total } } };
  };
  const matches = (v, f) => {
    if (f.status !== undefined && v.status !== f.status) return false;
    if (f.fuel_type !== undefined && v.fuel_type !== f.fuel_type && !on('filter-fuel-ignored')) return false;
    if (f.depot_city !== undefined && v.depot.city !== f.depot_city && !(on('filter-depot-case') && fold(v.depot.city).includes(fold(f.depot_city)))) return false;
    if (f.min_year !== undefined && !(on('filter-min-year-exclusive') ? v.year > f.min_year : on('filter-min-year-inverted') ? v.year <= f.min_year : v.year >= f.min_year)) return false;
    return true;
  };
  const cmp = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

  const handlers = {
    listVehicles(c) {
      const q = c.query, f = q.filter ?? {};
      let rows = c.t.vehicles.filter((v) => (q.include_deleted && !on('include-deleted-ignored')) || !v.deleted_at || on('deleted-still-listed'));
      if (on('tenant-list-leak')) rows = [...W.acme.vehicles, ...W.borealis.vehicles].filter((v) => q.include_deleted || !v.deleted_at);
      if (on('filter-or') && Object.keys(f).length > 1) rows = rows.filter((v) => Object.entries(f).some(([k, x]) => matches(v, { [k]: x })));
      else rows = rows.filter((v) => matches(v, f));
      if (q.ids && !on('ids-ignored')) { const ids = on('ids-first-only') ? q.ids.slice(0, 1) : q.ids; rows = rows.filter((v) => ids.includes(v.id)); }
      if (q.tags) rows = rows.filter((v) => (on('tags-any') ? q.tags.some((x) => v.tags.includes(x)) : q.tags.every((x) => v.tags.includes(x))));
      if (q.q !== undefined) rows = rows.filter((v) => (on('search-case-sensitive') ? [v.plate_number, v.make, v.model].some((s) => s.includes(q.q))
        : [v.plate_number, ...(on('search-not-model') ? [] : [v.model]), v.make].some((s) => fold(s).includes(fold(q.q)))));
      if (q.created_after !== undefined) rows = rows.filter((v) => (on('created-after-exclusive') ? time(v.created_at) > time(q.created_after) : time(v.created_at) >= time(q.created_after)));
      if (q.created_before !== undefined && !on('created-before-ignored')) rows = rows.filter((v) => (on('created-before-inclusive') ? time(v.created_at) <= time(q.created_before) : time(v.created_at) < time(q.created_before)));
      const by = q.sort_by, dir = q.order === 'desc' ? -1 : 1;
      const value = (v) => (by === 'depot.city' ? v.depot.city : by === 'created_at' ? time(v.created_at) : v[by]);
      rows = [...rows].sort((a, b) => {
        let x = value(a), y = value(b);
        if (x === null || y === null) { if (x === y) return a.id - b.id; const last = x === null ? 1 : -1; return on('nulls-first-desc') && dir < 0 ? -last : last; }
        if (typeof x === 'string' && !on('sort-case')) { x = fold(x); y = fold(y); }
        if (on('sort-number-as-text') && by === 'odometer_km') { x = String(x); y = String(y); }
        if (on('sort-nested-ignored') && by === 'depot.city') return a.id - b.id;
        if (on('order-desc-ignored')) return cmp(x, y) || a.id - b.id;
        return dir * cmp(x, y) || (on('ties-reversed') ? dir * (a.id - b.id) : a.id - b.id);
      });
      if (on('sort-within-page')) { const s = (q.page - 1) * q.per_page; rows = rows.sort((a, b) => a.id - b.id); const part = rows.slice(s, s + q.per_page).sort((a, b) => dir * cmp(value(a), value(b)) || a.id - b.id); rows = [...rows.slice(0, s), ...part, ...rows.slice(s + q.per_page)]; }
      const row = (v) => {
        let o = base(c.t, v, true);
        if (q.fields && !on('fields-ignored')) {
          const keep = on('fields-first-only') ? q.fields.slice(0, 1) : q.fields;
          o = Object.fromEntries(Object.entries(o).filter(([k]) => (k === 'id' && !on('fields-no-id')) || keep.includes(k)));
        }
        return expand(c.t, v, o, q.include, true);
      };
      if (on('total-counts-deleted') && !q.include_deleted) {
        const r = paged(c, '/vehicles', 'vehicles', rows, row); r.body.meta.total_count += c.t.vehicles.filter((v) => v.deleted_at).length; return r;
      }
      return paged(c, '/vehicles', 'vehicles', rows, row);
    },
    createVehicle(c) {
      const key = c.headers['idempotency-key'];
      if (key !== undefined) {
        const old = c.t.keys.get(key);
        if (old && !on('idempotency-ignored')) {
          if (old.hash !== hash(c.body) && !on('idempotency-body')) fail(409, 'The key was used for another request.');
          return structuredClone(old.answer);
        }
      }
      if (!plateFree(c.t, c.body.plate_number)) fail(409, `The plate number ${c.body.plate_number} is in use.`);
      const v = addVehicle(c.t, c.body);
      const r = { status: 201, headers: { Location: `/vehicles/${on('location-wrong') ? v.id - 1 : v.id}`, ETag: etag(c.t, v) }, body: base(c.t, v) };
      if (key !== undefined) c.t.keys.set(key, { hash: hash(c.body), answer: structuredClone(r) });
      D?.stored?.(v, c.body);
      return r;
    },
    bulkCreateVehicles(c) {
      const results = c.body.vehicles.map((input, index) => {
        if (!plateFree(c.t, input.plate_number)) return { index, status: 409, reason: `The plate number ${input.plate_number} is in use.` };
        if (on('bulk-last-skipped') && index > 0 && index === c.body.vehicles.length - 1) {
          const at = now(); return { index, status: 201, vehicle: { ...base(c.t, { id: ++W.seq.vehicle, ...fresh(input), driver_id: null, created_at: at, updated_at: at, deleted_at: null }) } };
        }
        return { index: on('bulk-index-constant') ? 0 : index, status: 201, vehicle: base(c.t, addVehicle(c.t, on('bulk-notes-lost') ? { ...input, notes: null } : input)) };
      });
      const n = results.filter((r) => r.status === 201).length;
      return { status: 207, body: { results, created_count: on('bulk-count-wrong') ? n + 1 : n, failed_count: results.length - n } };
    },
    bulkDeleteVehicles(c) {
      const results = c.body.ids.map((id, i) => {
        const v = c.t.vehicles.find((x) => x.id === id && !x.deleted_at);
        if (v && !on('bulk-delete-ignored') && !(on('bulk-delete-first-only') && i > 0)) remove(c.t, v);
        return { id, status: v || on('bulk-delete-always-204') ? 204 : 404 };
      });
      return { status: 207, body: { results: on('bulk-delete-order') ? results.reverse() : results, deleted_count: results.filter((r) => r.status === 204).length } };
    },
    exportVehicles(c) {
      const sep = c.query.delimiter === 'semicolon' && !on('csv-delimiter-ignored') ? ';' : ',';
      const cell = (x) => (/["\r\n,;]/.test(String(x)) && !on('csv-no-quotes') ? `"${String(x).replaceAll('"', '""')}"` : String(x));
      const cols = ['id', 'plate_number', 'make', 'model', 'year', 'status', 'fuel_type', 'odometer_km'];
      const rows = c.t.vehicles.filter((v) => (!v.deleted_at || on('csv-shows-deleted')) && (on('csv-filter-ignored') || matches(v, c.query.filter ?? {})));
      if (on('csv-row-lost')) rows.pop();
      return { status: 200, type: on('csv-as-plain') ? 'text/plain; charset=utf-8' : 'text/csv; charset=utf-8', headers: { 'Content-Disposition': 'attachment; filename="vehicles.csv"' },
        raw: Buffer.from([cols, ...rows.map((v) => cols.map((k) => v[k]))].map((r) => r.map(cell).join(sep)).join('\r\n') + '\r\n') };
    },
    getVehicle(c) {
      let v = vehicle(c.t, c.params.vehicle_id, c.query.include_deleted || on('deleted-still-readable'));
      if (on('read-returns-other') && v.id > 26) v = c.t.vehicles.findLast((x) => x.id < v.id && !x.deleted_at) ?? v;
      if (on('get-side-effect')) v.odometer_km = round(v.odometer_km + 0.1, 1);
      const tag = etag(c.t, v), o = expand(c.t, v, base(c.t, v), c.query.include);
      if (on('include-always')) expand(c.t, v, o, ['driver']);
      const full = c.query.include ? `${tag.slice(0, -1)}.${hash(o)}"` : tag;
      const inm = c.headers['if-none-match'];
      if (inm !== undefined && !on('if-none-match-ignored') && (inm.trim() === '*' || (inm.match(/(?:W\/)?"[^"]*"/g) ?? []).map((x) => x.replace(/^W\//, '')).includes(full))) return { status: 304, headers: { ETag: full } };
      return { status: 200, headers: { ETag: full }, body: o };
    },
    replaceVehicle(c) {
      const v = vehicle(c.t, c.params.vehicle_id);
      precondition(c, v, 'put');
      if (!plateFree(c.t, c.body.plate_number, v.id)) fail(409, `The plate number ${c.body.plate_number} is in use.`);
      change(c.t, v, on('put-merges') ? c.body : { ...fresh(c.body), ...(on('put-clears-driver') ? { driver_id: null } : {}) });
      return changed(c.t, v);
    },
    updateVehicle(c) {
      const v = vehicle(c.t, c.params.vehicle_id);
      precondition(c, v, 'patch');
      if (c.body.plate_number !== undefined && !plateFree(c.t, c.body.plate_number, v.id)) fail(409, `The plate number ${c.body.plate_number} is in use.`);
      const body = { ...c.body };
      if (on('patch-not-stored')) { const copy = { ...v }; change(c.t, copy, body); return changed(c.t, copy); }
      if (on('patch-clears-notes') && !('notes' in body)) body.notes = null;
      if (on('patch-null-ignored')) for (const k of Object.keys(body)) if (body[k] === null) delete body[k];
      if (on('patch-tags-appends') && body.tags) body.tags = [...new Set([...v.tags, ...body.tags])].slice(0, 8);
      if (on('patch-attributes-merge') && body.attributes) body.attributes = Object.fromEntries(Object.entries({ ...v.attributes, ...body.attributes }).slice(0, 6));
      if (on('patch-depot-merges') && body.depot) body.depot = { ...v.depot, ...body.depot };
      if (on('patch-false-zero') && body.odometer_km === 0) delete body.odometer_km;
      if (on('patch-answers-old')) { const r = changed(c.t, v); change(c.t, v, body); return { ...r, headers: { ETag: etag(c.t, v) } }; }
      change(c.t, v, body);
      return changed(c.t, v);
    },
    deleteVehicle(c) {
      const v = vehicle(c.t, c.params.vehicle_id);
      precondition(c, v, 'delete');
      if (on('delete-hard')) c.t.vehicles.splice(c.t.vehicles.indexOf(v), 1);
      else if (!on('delete-ignored')) remove(c.t, v);
      return { status: 204 };
    },
    listTrips(c) {
      const q = c.query, v = vehicle(c.t, c.params.vehicle_id, on('trips-of-deleted'));
      let rows = on('trips-other-parent') ? [...c.t.trips] : tripsOf(c.t, v);
      if (q.kind !== undefined) rows = rows.filter((x) => (on('trip-kind-inverted') ? x.kind !== q.kind : x.kind === q.kind));
      if (q.min_distance_km !== undefined) rows = rows.filter((x) => (on('min-distance-exclusive') ? x.distance_km > q.min_distance_km : x.distance_km >= q.min_distance_km));
      if (q.max_distance_km !== undefined && !on('max-distance-ignored')) rows = rows.filter((x) => x.distance_km <= q.max_distance_km);
      if (q.started_after !== undefined) rows = rows.filter((x) => (on('started-after-day') ? time(x.started_at) >= time(`${new Date(time(q.started_after)).toISOString().slice(0, 10)}T00:00:00Z`) : time(x.started_at) >= time(q.started_after)));
      if (q.started_before !== undefined && !on('started-before-ignored')) rows = rows.filter((x) => time(x.started_at) < time(q.started_before));
      return paged(c, `/vehicles/${v.id}/trips`, 'trips', sortTrips(rows, (q.order === 'asc') !== on('trip-order-inverted') ? 1 : -1), (x) => structuredClone(x));
    },
    createTrip(c) {
      const v = vehicle(c.t, c.params.vehicle_id);
      const trip = { id: ++W.seq.trip, vehicle_id: v.id, fuel_l: null, ...(c.body.kind === 'transfer' ? { reason: on('trip-default-reason') ? 'sale' : 'rebalancing' } : {}), ...structuredClone(c.body), created_at: now() };
      if (on('trip-stops-truncated') && trip.stops?.length > 1) trip.stops = trip.stops.slice(0, 1);
      if (on('trip-started-at-day')) trip.started_at = `${new Date(time(trip.started_at)).toISOString().slice(0, 10)}T00:00:00.000Z`;
      if (!on('trip-transfer-not-stored') || trip.kind !== 'transfer') c.t.trips.push(trip);
      return { status: 201, headers: { Location: on('trip-location-elsewhere') ? `/trips/${trip.id}` : `/vehicles/${v.id}/trips/${trip.id}` }, body: structuredClone(trip) };
    },
    getTrip(c) {
      const v = vehicle(c.t, c.params.vehicle_id);
      const trip = c.t.trips.find((x) => x.id === c.params.trip_id && (x.vehicle_id === v.id || on('trip-any-parent'))) ?? fail(404, 'There is no such trip.');
      return { status: 200, body: structuredClone(trip) };
    },
    deleteTrip(c) {
      const v = vehicle(c.t, c.params.vehicle_id);
      const at = c.t.trips.findIndex((x) => x.id === c.params.trip_id && x.vehicle_id === v.id);
      if (at < 0) { if (on('delete-trip-twice-204')) return { status: 204 }; fail(404, 'There is no such trip.'); }
      v.gone = (v.gone ?? 0) + 1;
      if (on('stats-keep-deleted')) (c.t.ghosts ??= []).push(c.t.trips[at]);
      if (on('delete-trip-removes-last')) c.t.trips.splice(c.t.trips.findLastIndex((x) => x.vehicle_id === v.id), 1);
      else if (!on('delete-trip-ignored')) c.t.trips.splice(at, 1);
      return { status: 204 };
    },
    getVehicleStats(c) {
      const v = vehicle(c.t, c.params.vehicle_id, on('stats-of-deleted'));
      let trips = on('stats-all-vehicles') ? c.t.trips : [...tripsOf(c.t, v), ...(c.t.ghosts ?? []).filter((x) => x.vehicle_id === v.id)];
      if (on('stats-first-page')) trips = trips.slice(0, 20);
      const sum = (k) => trips.reduce((a, x) => a + (x[k] ?? 0), 0);
      const latest = trips.reduce((a, x) => (a === null || (on('stats-last-is-first') ? time(x.started_at) < time(a) : time(x.started_at) > time(a)) ? x.started_at : a), null);
      const kind = (k) => trips.filter((x) => x.kind === k).length;
      return { status: 200, body: { vehicle_id: v.id, trips_count: on('stats-count-off') ? trips.length + 1 : trips.length,
        trips_by_kind: on('stats-kinds-swapped') ? { delivery: kind('transfer'), transfer: kind('delivery') } : { delivery: kind('delivery'), transfer: kind('transfer') },
        total_distance_km: round(on('stats-distance-deliveries') ? trips.filter((x) => x.kind === 'delivery').reduce((a, x) => a + x.distance_km, 0) : sum('distance_km'), 1),
        total_fuel_l: on('stats-fuel-constant') ? 0 : round(sum('fuel_l'), 2), total_duration_min: on('stats-duration-hours') ? Math.round(sum('duration_min') / 60) : sum('duration_min'),
        longest_trip_km: trips.length ? trips.reduce((a, x) => Math.max(a, x.distance_km), 0) : null, last_trip_at: latest } };
    },
    assignDriver(c) {
      const v = vehicle(c.t, c.params.vehicle_id);
      if (!c.t.drivers.some((d) => d.id === c.body.driver_id) && !on('assign-unknown-driver')) invalid([{ pointer: '/driver_id', message: 'there is no such driver' }]);
      if (on('assign-changes-nothing')) return changed(c.t, { ...v, driver_id: c.body.driver_id });
      if (on('assign-only-if-empty') && v.driver_id !== null) return changed(c.t, v);
      change(c.t, v, { driver_id: c.body.driver_id });
      return changed(c.t, v);
    },
    unassignDriver(c) {
      const v = vehicle(c.t, c.params.vehicle_id);
      if (!on('unassign-ignored')) change(c.t, v, { driver_id: null });
      return { status: 204 };
    },
    recordOdometer(c) {
      const v = vehicle(c.t, c.params.vehicle_id);
      if (!on('odometer-not-stored')) change(c.t, v, { odometer_km: on('odometer-adds') ? Math.min(5000000, round(v.odometer_km + c.body.reading_km, 1)) : c.body.reading_km });
      return { status: 200, body: { vehicle_id: v.id, reading_km: c.body.reading_km, read_on: c.body.read_on, estimated: c.body.estimated ?? on('odometer-default-estimated'), gate: on('odometer-gate-lost') ? null : (c.body.gate ?? null), remark: c.body.remark ?? null } };
    },
    uploadDocument(c) {
      const v = vehicle(c.t, c.params.vehicle_id);
      const id = ++W.seq.document, bytes = on('download-truncated') ? c.body.file.subarray(0, Math.max(0, c.body.file.length - 1)) : on('download-text') ? Buffer.from(c.body.file.toString('utf8').replaceAll('\r\n', '\n').trim()) : c.body.file;
      c.t.documents.push({ id, vehicle_id: v.id, title: c.body.title, bytes });
      return { status: 201, body: { id, vehicle_id: v.id, title: c.body.title, document_type: on('upload-type-other') ? 'other' : c.body.document_type, valid_until: on('upload-valid-until-lost') ? null : (c.body.valid_until ?? null),
        size_bytes: on('upload-size-zero') ? 0 : c.body.file.length, sha256: createHash('sha256').update(c.body.file).digest('hex'), download_path: `/documents/${on('download-path-wrong') ? id + 1000 : id}/download`, created_at: now() } };
    },
    downloadDocument(c) {
      const tenants = on('download-cross-tenant') ? [W.acme, W.borealis] : [c.t];
      for (const t of tenants) {
        const d = t.documents.find((x) => x.id === c.params.document_id);
        if (d && (t.vehicles.find((v) => v.id === d.vehicle_id && !v.deleted_at) || on('document-of-deleted'))) return { status: 200, type: 'application/octet-stream', raw: on('download-latest') ? t.documents.at(-1).bytes : d.bytes };
      }
      return fail(404, 'There is no such document.');
    },
    listDrivers(c) {
      const q = c.query;
      let rows = c.t.drivers;
      if (q.licence_class) rows = rows.filter((d) => (on('licence-first-only') ? d.licence_classes.includes(q.licence_class[0]) : on('licence-all') ? q.licence_class.every((x) => d.licence_classes.includes(x)) : q.licence_class.some((x) => d.licence_classes.includes(x))));
      if (q.hired_before !== undefined) rows = rows.filter((d) => (on('hired-before-inverted') ? d.hired_on > q.hired_before : on('hired-before-inclusive') ? d.hired_on <= q.hired_before : d.hired_on < q.hired_before));
      if (q.active !== undefined && !(on('active-false-ignored') && q.active === false)) rows = rows.filter((d) => d.active === q.active);
      rows = [...rows].sort((a, b) => cmp(a.last_name, b.last_name) || (on('drivers-second-key') ? 0 : cmp(a.first_name, b.first_name)) || a.id - b.id);
      if (on('drivers-unsorted')) rows.sort((a, b) => a.id - b.id);
      const r = paged(c, '/drivers', 'drivers', rows, (d) => structuredClone(d));
      r.headers['Content-Language'] = on('locale-ignored') ? 'en' : c.cookies.fleet_locale;
      return r;
    },
  };

  const answer = async (rq) => {
    const at = rq.url.indexOf('?');
    const path = at < 0 ? rq.url : rq.url.slice(0, at), rawQuery = at < 0 ? '' : rq.url.slice(at + 1);
    let segments = path.split('/').slice(1);
    if (D?.trailingSlash && segments.at(-1) === '') segments = segments.slice(0, -1);
    const method = rq.method === 'HEAD' ? 'GET' : rq.method;
    const pattern = routes.find((r) => r.segments.length === segments.length && r.segments.every((s, i) => (s.startsWith('{') ? segments[i] !== '' : s === segments[i])));
    const early = D?.surface?.({ method: rq.method, path, headers: rq.headers, problem });
    if (early) return early;
    if (!pattern) fail(404, 'There is nothing at this path.');
    const allow = Object.keys(pattern.methods).flatMap((m) => (m === 'GET' ? ['GET', 'HEAD'] : [m])).concat('OPTIONS').join(', ');
    if (rq.method === 'OPTIONS') return { status: 204, headers: { Allow: allow } };
    const op = pattern.methods[method] ?? fail(D?.noMethod ?? 405, `${rq.method.slice(0, 20)} is not possible here.`, {}, D?.noAllow ? {} : { Allow: allow });
    const c = { op: op.operationId, method: rq.method, headers: rq.headers, rawQuery, params: {}, cookies: {} };
    rq.op = op.operationId;
    rq.ctx = c;
    // who
    const cookies = {};
    for (const part of (rq.headers.cookie ?? '').split(';')) { const i = part.indexOf('='); if (i > 0) cookies[part.slice(0, i).trim()] = part.slice(i + 1).trim().replace(/^"(.*)"$/, '$1'); }
    const portal = op.security?.[0]?.portal_session !== undefined;
    let id = portal ? SESSIONS[Object.hasOwn(SESSIONS, cookies.fleet_session ?? '') ? cookies.fleet_session : ''] : KEYS[Object.hasOwn(KEYS, rq.headers['x-api-key'] ?? '') ? rq.headers['x-api-key'] : ''];
    if (D?.identity) id = D.identity(op.operationId, id, { key: rq.headers['x-api-key'], cookies }) ?? id;
    if (!id || id.expired) fail(401, 'The credential is missing or not valid.', {}, { 'WWW-Authenticate': portal ? 'Session realm="haulboard"' : 'ApiKey realm="haulboard"' });
    if (id.readOnly && method !== 'GET' && D?.anyRight !== op.operationId) fail(403, 'This key is read-only.');
    c.t = W[id.tenant];
    // accept
    const success = Object.entries(op.responses).find(([s, r]) => s[0] === '2' && r.content);
    if (success && rq.headers.accept !== undefined && D?.noAccept !== op.operationId) {
      const type = Object.keys(success[1].content)[0];
      const ok = rq.headers.accept.split(',').some((x) => {
        const [m, ...ps] = x.split(';').map((y) => y.trim().toLowerCase());
        if (ps.some((y) => /^q=0(\.0*)?$/.test(y))) return false;
        return m === '*/*' || m === type || m === `${type.split('/')[0]}/*` || m === '*';
      });
      if (!ok) fail(406, `There is only ${type}.`);
    }
    for (const [i, s] of pattern.segments.entries()) if (s.startsWith('{')) {
      const p = op.parameters.find((x) => x.in === 'path' && x.name === s.slice(1, -1));
      c.params[p.name] = parameter(p, D?.pathNumber === op.operationId ? parseInt(decode(segments[i], false), 10) || 0 : scalar(decode(segments[i], false), p.schema));
    }
    c.query = parseQuery(op, rawQuery);
    for (const p of op.parameters) {
      if (p.in === 'header' && rq.headers[p.name.toLowerCase()] !== undefined) parameter(p, rq.headers[p.name.toLowerCase()]);
      if (p.in === 'cookie') { if (cookies[p.name] !== undefined) parameter(p, decode(cookies[p.name], false)); c.cookies[p.name] = cookies[p.name] ?? p.schema.default; }
    }
    if (op.requestBody) {
      const chunks = []; let size = 0, over = false;
      for await (const chunk of rq) { size += chunk.length; if (size > 1048576) over = true; else chunks.push(chunk); }
      if (over) fail(413, 'The body is larger than 1 MB.');
      c.body = parseBody(op, rq.headers['content-type'] ?? '', Buffer.concat(chunks));
    }
    D?.before?.(c, { fail, invalid, W });
    if (D?.hang?.(c)) return 'hang';
    return handlers[op.operationId](c);
  };

  const server = createServer({ maxHeaderSize: 131072 }, async (rq, rs) => {
    let r;
    try { r = await answer(rq); } catch (e) {
      if (e instanceof Stop) r = e.r;
      else { r = problem(500, 'Something went wrong.'); if (!drift) console.error('BUG', rq.method, rq.url, e); }
    }
    if (r === 'hang') return;
    r.headers = { 'X-Request-Id': randomUUID(), ...(r.headers ?? {}) };
    if (r.body !== undefined && r.type === undefined) r.type = 'application/json';
    const c = rq.ctx ?? { op: undefined, headers: rq.headers, method: rq.method };
    D?.res?.(r, c, { W, problem });
    let out = r.raw ?? (r.body === undefined ? undefined : Buffer.from(JSON.stringify(r.body)));
    for (const [k, v] of Object.entries(r.headers)) if (v !== undefined && v !== null) rs.setHeader(k, v);
    if (out !== undefined) { if (r.type) rs.setHeader('Content-Type', r.type); rs.setHeader('Content-Length', out.length); }
    rs.statusCode = r.status;
    if (!rq.complete) rq.resume();
    if (r.status === 204 || r.status === 304 || rq.method === 'HEAD') rs.end(); else rs.end(out);
  });
  server.on('clientError', (e, socket) => {
    if (!socket.writable) return socket.destroy();
    const body = JSON.stringify(problem(400, 'The request cannot be read.').body);
    socket.end(`HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${randomUUID()}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}`, server, stop: () => new Promise((done) => { server.close(() => done()); server.closeAllConnections(); }) };
};
