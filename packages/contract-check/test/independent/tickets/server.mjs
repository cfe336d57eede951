// A correct in-memory server for openapi.yaml; start('name of a drift') switches one drift on.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, resolve } from 'node:path';
import { Ajv2020 as Ajv } from 'ajv/dist/2020.js';
import formatsModule from 'ajv-formats';
import { parse } from 'yaml';
import { drifts } from './drifts.mjs';

const formats = formatsModule.default ?? formatsModule;
const here = import.meta.dirname;

/** The document with every reference put in place. */
function load() {
  const files = new Map();
  const file = (path) => files.get(path) ?? files.set(path, parse(readFileSync(path, 'utf8'))).get(path);
  const walk = (node, path) => {
    if (Array.isArray(node)) return node.map((item) => walk(item, path));
    if (!node || typeof node !== 'object') return node;
    const { $ref, ...rest } = node;
    const own = {};
    for (const [key, value] of Object.entries(rest)) own[key] = key === 'mapping' ? value : walk(value, path);
    if (typeof $ref !== 'string') return own;
    const [name, pointer] = $ref.split('#');
    const target = name ? resolve(dirname(path), name) : path;
    const found = pointer.split('/').slice(1).reduce((at, key) => at[key.replaceAll('~1', '/').replaceAll('~0', '~')], file(target));
    const put = walk(found, target);
    if (Object.keys(own).every((key) => key === 'description')) return { ...put, ...own };
    const readOnly = own.readOnly;
    return readOnly === undefined ? { ...own, allOf: [put, ...(own.allOf ?? [])] } : { ...put, ...own };
  };
  return walk(file(resolve(here, 'openapi.yaml')), resolve(here, 'openapi.yaml'));
}

/** A schema as it is for requests: what is readOnly is unknown. */
function forRequest(schema) {
  if (Array.isArray(schema)) return schema.map(forRequest);
  if (!schema || typeof schema !== 'object') return schema;
  const out = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'discriminator') continue;
    if (key === 'properties') {
      out.properties = {};
      for (const [name, property] of Object.entries(value)) if (!property.readOnly) out.properties[name] = forRequest(property);
    } else out[key] = key === 'enum' || key === 'const' || key === 'default' ? value : forRequest(value);
  }
  if (Array.isArray(out.required) && schema.properties) out.required = out.required.filter((name) => !schema.properties[name]?.readOnly);
  return out;
}

const cents = (text) => BigInt(text.replace('.', ''));
const money = (value) => `${value / 100n}.${String(value % 100n).padStart(2, '0')}`;
const instant = (text) => Date.parse(text.replace(/[ t]/, 'T').replace('z', 'Z').replace(/:60/, ':59'));
const clone = (value) => structuredClone(value);
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const today = () => new Date().toISOString().slice(0, 10);

class Refusal extends Error {
  constructor(status, title, detail, errors) {
    super(title);
    this.answer = { status, title, detail, errors };
  }
}
const refuse = (status, title, detail, errors) => {
  throw new Refusal(status, title, detail, errors);
};

const TOKENS = {
  'admin-a': { tenant: 'a', scopes: ['read', 'write', 'admin'] },
  'admin-b': { tenant: 'b', scopes: ['read', 'write', 'admin'] },
  'reader-a': { tenant: 'a', scopes: ['read'] },
  'nothing-a': { tenant: 'a', scopes: [] },
  'expired-a': { tenant: 'a', scopes: ['read', 'write', 'admin'], expired: true },
};

export async function start(drift) {
  const active = drift ? drifts.find((one) => one.name === drift) : undefined;
  if (drift && !active) throw new Error(`no drift ${drift}`);
  const is = (name) => drift === name;
  const doc = load();

  // ---- time and ids
  let last = 0;
  const now = () => new Date((last = Math.max(Date.now(), last + 1))).toISOString();
  let serial = 0;
  const uuid = () => {
    const hex = createHash('sha256').update(`stagedoor ${++serial}`).digest('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };

  // ---- data
  const world = () => ({ venues: [], halls: [], events: [], orders: [], customers: [], vouchers: new Map(), reports: [], keys: new Map(), number: 1000 });
  const tenants = { a: world(), b: world() };
  seed(tenants.a, 26, 24);
  seed(tenants.b, 5, 4);

  function seed(w, events, people) {
    const cities = [['Berlin', 'DE', 13.4, 52.5], ['Vienna', 'AT', 16.37, 48.2], ['Lyon', 'FR', 4.83, 45.76], ['Madrid', 'ES', -3.7, 40.4], ['Hamburg', 'DE', 10, 53.55], ['Graz', 'AT', 15.44, 47.07]];
    const names = ['Old Mill', 'Arena', 'City Theatre', 'Quay House', 'The Cellar', 'Palace'];
    for (let i = 0; i < (events > 10 ? 23 : 3); i++) {
      const [city, country, lon, lat] = cities[i % 6];
      const venue = { id: uuid(), name: `${names[(i * 5) % 6]} ${city}${i > 5 ? ` ${1 + Math.floor(i / 6)}` : ''}`, city, country, position: [lon, lat], website: i % 3 ? `https://venues.example.com/${i}` : null, tags: [['indoor'], ['indoor', 'bar'], []][i % 3], createdAt: new Date(Date.UTC(2023, i, 3, 9)).toISOString() };
      w.venues.push(venue);
      for (let h = 0; h < i % 4; h++) {
        const rows = Array.from({ length: 2 + h }, (_, r) => ({ label: 'ABCDEFG'[r], seats: 10 + r * 2 + i, wheelchair: r === 0 }));
        w.halls.push({ id: uuid(), venueId: venue.id, name: ['Main', 'Small', 'Studio'][h], floor: [0, null, -1][h], rows });
      }
    }
    const titles = ['Moonlight Sonatas', 'Hamlet', 'Derby', 'Stand-up Night', 'Puppets', 'Rock am Kanal', 'Faust', 'Sprint Cup', 'Laugh Out', 'Magic Show', 'Jazz Brunch', 'Antigone', 'Open Air', 'Improv', 'Circus'];
    const cats = ['concert', 'theatre', 'sport', 'comedy', 'family'];
    const orgs = [['Nordklang GmbH', 'info@nordklang.example.com', '+49301234567'], ['Bühne e.V.', 'post@buehne.example.org', null], ["O'Neill Promotions", 'hello@oneill.example.com', '+353123456']];
    for (let i = 0; i < events; i++) {
      const [name, email, phone] = orgs[i % 3];
      const total = [50, 200, 1000, 12][i % 4];
      const at = new Date(Date.UTC(2030, 2 + (i % 7), 4 + ((i * 3) % 20), 19)).toISOString();
      const made = new Date(Date.UTC(2024, i % 12, 1 + i)).toISOString();
      w.events.push({
        id: uuid(), title: i < 15 ? titles[i] : `${titles[i % 15]} II`, category: cats[i % 5], venueId: w.venues[i % Math.min(w.venues.length, 7)].id, startsAt: at, doorsAt: i % 3 ? null : at.replace('T19', 'T18'),
        price: ['19.00', '9.50', '100.00', '45.90', '19.00', '0.00'][i % 6], ageLimit: [null, 18, 6, 0][i % 4], ticketsTotal: total,
        organizer: i % 2 ? { name, email, phone } : { name, email }, description: i % 2 ? `An evening with ${titles[i % 15]}.` : null, infoUrl: i % 4 ? null : `https://events.example.com/e/${i}`,
        language: ['en', 'de', 'fr', 'es'][i % 4], tags: [[], ['premiere'], ['outdoor', 'late']][i % 3], ...(i % 5 === 0 ? { presaleEndsOn: '2030-01-31' } : {}), status: ['published', 'published', 'draft', 'soldOut', 'published', 'cancelled'][i % 6],
        sold: [0, 7, 30, 12][i % 4], createdAt: made, updatedAt: made,
      });
    }
    const first = ['Ada', 'ben', 'Chloé', 'Dmitri', 'eva', 'Farid', 'Grete', 'Hugo', 'ines', 'Jan'];
    const family = ["O'Hara", 'Müller', 'Sato', 'da Silva', 'Novak'];
    for (let i = 0; i < people; i++) {
      const made = new Date(Date.UTC(2024, i % 12, 2 + i, 8, i)).toISOString();
      w.customers.push({
        id: uuid(), name: `${first[i % 10]} ${family[(i * 2) % 5]}`, email: `customer${i}@mail.example.com`, phone: i % 3 ? `+4930100${1000 + i}` : null, birthDate: i % 4 === 3 ? null : `19${60 + i}-0${1 + (i % 9)}-1${i % 9}`,
        address: i % 5 === 4 ? null : { street: `Main Street ${i + 1}`, zip: `${10115 + i}`, city: cities[i % 6][0], country: cities[i % 6][1] }, newsletter: i % 2 === 0, tier: ['standard', 'silver', 'gold', 'standard'][i % 4],
        preferences: i % 3 ? {} : { seat: 'aisle', locale: 'de' }, createdAt: made, updatedAt: made,
      });
    }
    for (let i = 0; i < people; i++) {
      const made = new Date(Date.UTC(2025, i % 10, 5 + i, 10)).toISOString();
      const lines = Array.from({ length: 1 + (i % 3) }, (_, l) => ({ eventId: w.events[(i + l) % w.events.length].id, quantity: 1 + ((i + l) % 4) }));
      const payment = [{ method: 'card', brand: 'visa', last4: `${4000 + i}` }, { method: 'invoice', company: `Firm ${i} AG`, vatId: i % 2 ? 'DE123456789' : null, dueOn: '2026-03-31' }, { method: 'wallet', provider: ['paypal', 'applePay'][i % 2], walletId: uuid() }][i % 3];
      const status = ['pending', 'paid', 'cancelled', 'paid'][i % 4];
      if (status !== 'cancelled')
        for (const line of lines) {
          const event = w.events.find((e) => e.id === line.eventId);
          event.sold += line.quantity;
          event.ticketsTotal = Math.max(event.ticketsTotal, event.sold);
        }
      w.orders.push(compute({
        id: uuid(), number: `T-${String(++w.number).padStart(6, '0')}`, status, customerId: w.customers[i % 8 % w.customers.length].id, lines: lines.map((line) => ({ ...line, unitPrice: w.events.find((e) => e.id === line.eventId).price })), payment, voucherCode: null, delivery: ['email', 'post', 'boxOffice'][i % 3], giftWrap: i % 5 === 0,
        note: i % 4 ? null : 'Please ring twice', currency: 'EUR', channel: ['web', 'kiosk', 'partner'][i % 3], createdAt: made, paidAt: status === 'paid' ? made.replace('T10', 'T11') : null, cancelledAt: status === 'cancelled' ? made.replace('T10', 'T12') : null, cancelReason: i % 8 === 2 ? 'fell ill' : null,
      }));
    }
    for (const [i, code] of ['WELCOME10', 'SUMMER24', 'STAFF100'].entries()) w.vouchers.set(code, { code, discount: i === 1 ? { kind: 'amount', amount: '5.00' } : { kind: 'percent', percent: i ? 100 : 10 }, validFrom: i ? null : '2024-01-01', validUntil: i === 1 ? '2024-12-31' : '2099-12-31', maxUses: i ? 5 : 1000, uses: 0, eventIds: [], note: i ? null : 'New customers', createdAt: '2024-01-01T00:00:00.000Z', updatedAt: '2024-01-01T00:00:00.000Z' });
  }

  function compute(order, voucher) {
    let sum = 0n;
    order.lines = order.lines.map((line) => {
      const total = cents(line.unitPrice) * BigInt(line.quantity);
      sum += total;
      return { ...line, lineTotal: money(total) };
    });
    let off = 0n;
    if (voucher) off = voucher.discount.kind === 'percent' ? (sum * BigInt(voucher.discount.percent)) / 100n : cents(voucher.discount.amount);
    if (off > sum) off = sum;
    return { ...order, subtotal: money(sum), discount: money(off), total: money(sum - off) };
  }

  // ---- representations
  const showHall = (hall) => ({ ...hall, seatCount: hall.rows.reduce((sum, row) => sum + row.seats, 0) });
  const hallsOf = (w, id) => w.halls.filter((hall) => hall.venueId === id).map(showHall).sort((a, b) => compare(a.name, b.name));
  const showVenue = (w, venue) => {
    const halls = hallsOf(w, venue.id);
    return { ...venue, hallCount: halls.length, capacity: halls.reduce((sum, hall) => sum + hall.seatCount, 0) };
  };
  const showEvent = (w, { sold, presaleCode, ...event }) => ({ object: 'event', ...event, city: w.venues.find((venue) => venue.id === event.venueId).city, ticketsSold: sold, ticketsAvailable: event.ticketsTotal - sold });
  const showCustomer = (w, { password, ...customer }) => ({ ...customer, orderCount: w.orders.filter((order) => order.customerId === customer.id && order.status !== 'cancelled').length });
  const tagOf = (body) => `"${createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 22)}"`;
  const find = (list, id, what) => list.find((one) => one.id === id) ?? refuse(404, `No such ${what}`);
  const page = (rows, q) => rows.slice(q.offset, q.offset + q.limit);
  const has = (text, part) => text.toLowerCase().includes(part.toLowerCase());

  // ---- operations
  const handlers = {
    listVenues({ w, query: q }) {
      let rows = w.venues.map((venue) => showVenue(w, venue));
      if (q.country !== undefined && !is('venues-filter-country-ignored')) rows = rows.filter((row) => row.country === q.country);
      if (q.minCapacity !== undefined) rows = rows.filter((row) => (is('venues-filter-capacity-exclusive') ? row.capacity > q.minCapacity : row.capacity >= q.minCapacity));
      rows.sort((a, b) => compare(a.name, b.name) || compare(a.id, b.id));
      if (is('venues-order-by-age')) rows.sort((a, b) => compare(a.createdAt, b.createdAt));
      const total = rows.length;
      rows = page(rows, q);
      if (q.fields && !is('venues-fields-ignored')) rows = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([key]) => key === 'id' || key === 'name' || q.fields.includes(key))));
      if (is('venues-fields-drop-second') && q.fields?.length > 1) rows = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([key]) => key !== q.fields[1])));
      if (is('venues-capacity-stale')) for (const row of rows) if ('capacity' in row && row.hallCount > 1) row.capacity -= 5;
      return { status: 200, body: { items: rows, total } };
    },
    listHalls({ w, path, query: q }) {
      find(w.venues, path.venueId, 'venue');
      let rows = is('halls-all-venues') ? w.halls.map(showHall).sort((a, b) => compare(a.name, b.name)) : hallsOf(w, path.venueId);
      if (q.minSeats !== undefined && !is('halls-filter-ignored')) rows = rows.filter((row) => row.seatCount >= q.minSeats);
      if (is('halls-unsorted')) rows.reverse();
      return { status: 200, body: rows };
    },
    createHall({ w, path, body }) {
      find(w.venues, path.venueId, 'venue');
      if (w.halls.some((hall) => hall.venueId === path.venueId && hall.name === body.name) && !is('hall-name-twice')) refuse(409, 'The venue has a hall of this name');
      const rows = body.rows.map((row) => ({ label: row.label, seats: row.seats, wheelchair: row.wheelchair ?? is('hall-wheelchair-default') }));
      const hall = { id: uuid(), venueId: path.venueId, name: body.name, floor: body.floor ?? null, rows };
      if (is('hall-first-row-only')) hall.rows = rows.slice(0, 1);
      if (is('hall-under-first-venue')) hall.venueId = w.venues[0].id;
      if (!is('hall-not-stored')) w.halls.push(hall);
      const shown = showHall(hall);
      if (is('hall-seatcount-is-rows')) shown.seatCount = rows.length;
      if (is('hall-under-first-venue')) shown.venueId = path.venueId;
      return { status: 201, body: shown };
    },
    listEvents({ w, query: q }) {
      let rows = w.events.map((event) => showEvent(w, event));
      const keep = (name, test) => {
        if (q[name] !== undefined && !is(`events-filter-${name}-ignored`)) rows = rows.filter(test);
      };
      keep('q', (row) => {
        if (is('events-q-case-sensitive')) return row.title.includes(q.q) || row.organizer.name.includes(q.q);
        if (is('events-q-title-only')) return has(row.title, q.q);
        if (is('events-q-prefix')) return row.title.toLowerCase().startsWith(q.q.toLowerCase()) || row.organizer.name.toLowerCase().startsWith(q.q.toLowerCase());
        return has(row.title, q.q) || has(row.organizer.name, q.q);
      });
      keep('category', (row) => (is('events-category-first-only') ? row.category === q.category[0] : q.category.includes(row.category)));
      keep('status', (row) => row.status === q.status);
      keep('venueId', (row) => row.venueId === q.venueId);
      keep('city', (row) => row.city === q.city);
      keep('organizerEmail', (row) => row.organizer.email === q.organizerEmail);
      keep('startsFrom', (row) => instant(row.startsAt) >= instant(q.startsFrom));
      keep('startsTo', (row) => (is('events-startsTo-exclusive') ? instant(row.startsAt) < instant(q.startsTo) : instant(row.startsAt) <= instant(q.startsTo)));
      if (is('events-price-as-text')) {
        keep('minPrice', (row) => row.price >= String(q.minPrice));
      } else keep('minPrice', (row) => Number(row.price) >= q.minPrice);
      keep('maxPrice', (row) => (is('events-maxPrice-exclusive') ? Number(row.price) < q.maxPrice : Number(row.price) <= q.maxPrice));
      keep('available', (row) => (is('events-available-false-ignored') && !q.available ? true : row.ticketsAvailable > 0 === q.available));
      const value = (row, key) => (key === 'startsAt' ? instant(row.startsAt) : key === 'price' ? (is('events-sort-price-as-text') ? row.price : Number(row.price)) : row[key]);
      const sort = is('events-default-sort') && !q.given.sort ? ['-startsAt'] : is('events-sort-ignored') ? ['startsAt'] : q.sort;
      rows.sort((a, b) => {
        for (const [at, part] of sort.entries()) {
          if (at && is('events-sort-second-key-ignored')) break;
          const turned = part.startsWith('-');
          const key = turned ? part.slice(1) : part;
          let by = compare(value(a, key), value(b, key));
          if (turned && !(is('events-sort-desc-ignored') && key === 'title')) by = -by;
          if (at && is('events-sort-second-key-asc')) by = compare(value(a, key), value(b, key));
          if (by) return by;
        }
        return is('events-ties-unstable') ? compare(b.id, a.id) : compare(a.id, b.id);
      });
      const total = is('events-total-is-page') ? page(rows, q).length : is('events-total-unfiltered') ? w.events.length : rows.length;
      const categoryCounts = {};
      for (const row of is('events-counts-of-page') ? page(rows, q) : is('events-counts-unfiltered') ? w.events : rows) categoryCounts[row.category] = (categoryCounts[row.category] ?? 0) + 1;
      let items = is('events-offset-ignored') ? rows.slice(0, q.limit) : is('events-offset-is-page') ? rows.slice(q.offset * q.limit, (q.offset + 1) * q.limit) : is('events-offset-off-by-one') && q.offset ? rows.slice(q.offset + 1, q.offset + 1 + q.limit) : page(rows, q);
      if (is('events-limit-ignored')) items = rows.slice(q.offset, q.offset + 20);
      if (is('events-list-skips-last') && rows.length > 3 && q.offset + q.limit >= rows.length) items = items.slice(0, -1);
      if (is('events-list-stale-sold')) items = items.map((item) => ({ ...item, ticketsSold: 0, ticketsAvailable: item.ticketsTotal }));
      if (is('events-list-city-wrong')) items = items.map((item) => ({ ...item, city: item.city === 'Berlin' ? 'Bonn' : item.city }));
      return { status: 200, headers: { 'X-Total-Count': String(rows.length) }, body: { items, total, categoryCounts } };
    },
    createEvent({ w, body }) {
      if (!w.venues.some((venue) => venue.id === body.venueId)) refuse(422, 'There is no such venue', undefined, [{ pointer: '/venueId', message: 'must be a venue' }]);
      const at = now();
      const { status = is('event-default-status') ? 'published' : 'draft', language = is('event-default-language') ? 'de' : 'en', doorsAt = null, ageLimit = null, description = null, infoUrl = null, tags = [], ...rest } = body;
      const event = { id: uuid(), doorsAt, ageLimit, description, infoUrl, language, tags, ...rest, status, sold: 0, createdAt: at, updatedAt: at };
      if (is('event-title-trimmed')) event.title = event.title.slice(0, 20);
      if (is('event-tags-lost')) event.tags = [];
      if (is('event-organizer-phone-lost')) event.organizer = { name: event.organizer.name, email: event.organizer.email };
      if (is('event-starts-rounded')) event.startsAt = `${event.startsAt.slice(0, 10)}T00:00:00Z`;
      if (is('event-tags-sorted')) event.tags = [...event.tags].sort().reverse();
      if (!is('event-not-stored')) w.events.push(event);
      let shown = showEvent(w, event);
      const tag = tagOf(shown);
      if (is('event-description-not-stored')) event.description = null;
      if (is('event-echo-only-partly')) shown = { ...shown, price: '0.00' };
      if (is('event-presale-code-shown')) shown.presaleCode = body.presaleCode ?? 'SECRET';
      return { status: 201, headers: { Location: is('event-location-list') ? '/events' : is('event-location-other') ? `/events/${w.events[0].id}` : `/events/${event.id}`, ETag: tag }, body: shown };
    },
    getEvent({ w, path, query: q, head, headers }) {
      let event = find(w.events, path.eventId, 'event');
      if (is('event-get-next')) event = w.events[(w.events.indexOf(event) + 1) % w.events.length];
      let body = showEvent(w, event);
      const tag = is('event-etag-constant') ? '"v1"' : tagOf(body);
      if (is('event-get-counts') && !head) event.sold = Math.min(event.ticketsTotal, event.sold + 1);
      if (headers['if-none-match'] === tag && !is('event-never-304') && !(is('head-never-304') && head)) return { status: 304, headers: { ETag: tag } };
      if (is('event-always-304') && headers['if-none-match']) return { status: 304, headers: { ETag: tag } };
      if (!is('event-include-ignored')) {
        if (q.include?.includes('venue')) body = { ...body, venue: showVenue(w, w.venues.find((venue) => venue.id === event.venueId)) };
        if (q.include?.includes('halls')) body = { ...body, halls: is('event-include-halls-empty') ? [] : hallsOf(w, event.venueId) };
      }
      if (is('event-include-wrong-venue') && body.venue) body.venue = showVenue(w, w.venues.find((venue) => venue.id !== event.venueId));
      if (is('event-include-unasked')) body = { ...body, venue: showVenue(w, w.venues.find((venue) => venue.id === event.venueId)) };
      return { status: 200, headers: { ETag: tag }, body };
    },
    listOrders({ w, query: q }) {
      let rows = [...(is('orders-tenant-leak') ? [...tenants.a.orders, ...tenants.b.orders] : w.orders)];
      const keep = (name, test) => {
        if (q[name] !== undefined && !is(`orders-filter-${name}-ignored`)) rows = rows.filter(test);
      };
      keep('status', (row) => (is('orders-status-paid-includes-pending') && q.status === 'paid' ? row.status !== 'cancelled' : row.status === q.status));
      keep('customerId', (row) => row.customerId === q.customerId);
      keep('paymentMethod', (row) => row.payment.method === q.paymentMethod);
      keep('createdFrom', (row) => (is('orders-createdFrom-exclusive') ? row.createdAt.slice(0, 10) > q.createdFrom : row.createdAt.slice(0, 10) >= q.createdFrom));
      keep('createdTo', (row) => (is('orders-createdTo-midnight') ? row.createdAt <= q.createdTo : row.createdAt.slice(0, 10) <= q.createdTo));
      keep('minTotal', (row) => Number(row.total) >= q.minTotal);
      rows.sort((a, b) => compare(b.createdAt, a.createdAt) || compare(b.number, a.number));
      if (is('orders-oldest-first')) rows.reverse();
      let from = 0;
      if (q.cursor !== undefined) {
        const key = Buffer.from(q.cursor, 'base64url').toString();
        if (!/^T-\d{6}$/.test(key)) refuse(400, 'The cursor is none', undefined, [{ pointer: '/cursor', message: 'must come from a page' }]);
        const all = [...w.orders, ...(is('orders-tenant-leak') ? tenants.b.orders : [])];
        const before = all.find((order) => order.number === key) ?? refuse(400, 'The cursor is none', undefined, [{ pointer: '/cursor', message: 'must come from a page' }]);
        from = rows.findIndex((row) => compare(before.createdAt, row.createdAt) > 0 || (before.createdAt === row.createdAt && row.number < before.number));
        if (is('orders-oldest-first')) from = rows.findIndex((row) => row.createdAt > before.createdAt);
        if (from < 0) from = rows.length;
        if (is('orders-cursor-repeats-row') && from) from -= 1;
        if (is('orders-cursor-skips-row')) from += 1;
        if (is('orders-cursor-loses-filter') && q.status) {
          rows = w.orders.toSorted((a, b) => compare(b.createdAt, a.createdAt) || compare(b.number, a.number));
          from = rows.findIndex((row) => row.number === before.number) + 1;
        }
      }
      const limit = is('orders-default-limit') && !q.given.limit ? 5 : q.limit;
      const items = rows.slice(from, from + limit).map((row) => ({ ...row }));
      let more = from + limit < rows.length;
      if (is('orders-cursor-never-ends')) more = items.length > 0;
      return { status: 200, body: { items, nextCursor: more ? Buffer.from(is('orders-cursor-first-page') ? rows[0].number : items.at(-1).number).toString('base64url') : null } };
    },
    createOrder({ w, body, raw, headers, cookies }) {
      const key = headers['idempotency-key'];
      if (key !== undefined && !is('order-key-ignored')) {
        const before = w.keys.get(key);
        if (before && (before.raw === raw || is('order-key-other-body'))) return is('order-key-new-id') ? { ...before.answer, body: { ...clone(before.answer.body), id: uuid() } } : clone(before.answer);
        if (before) refuse(422, 'The key was used with another body');
      }
      if (!w.customers.some((customer) => customer.id === body.customerId)) refuse(422, 'There is no such customer', undefined, [{ pointer: '/customerId', message: 'must be a customer' }]);
      const wanted = new Map();
      for (const [at, line] of body.lines.entries()) {
        const event = w.events.find((one) => one.id === line.eventId) ?? refuse(422, 'There is no such event', undefined, [{ pointer: `/lines/${at}/eventId`, message: 'must be an event' }]);
        wanted.set(event, (wanted.get(event) ?? 0) + line.quantity);
      }
      let voucher;
      if (typeof body.voucherCode === 'string') {
        voucher = w.vouchers.get(body.voucherCode);
        const day = today();
        if (!voucher || voucher.validUntil < day || (voucher.validFrom && voucher.validFrom > day) || voucher.uses >= voucher.maxUses) refuse(422, 'The voucher is not valid', undefined, [{ pointer: '/voucherCode', message: 'must be a valid voucher' }]);
      }
      if (!is('order-oversell')) for (const [event, quantity] of wanted) if (event.sold + quantity > event.ticketsTotal) refuse(409, 'Not enough tickets are available');
      if (!is('order-tickets-not-taken')) for (const [event, quantity] of wanted) event.sold += quantity;
      if (voucher) voucher.uses += 1;
      const { method, cardNumber, expiry, ...rest } = body.payment;
      const payment = method === 'card' ? { method, ...rest, last4: is('order-last4-first4') ? cardNumber.slice(0, 4) : cardNumber.slice(-4) } : { method, ...rest };
      if (is('order-invoice-vat-lost') && method === 'invoice' && payment.vatId !== undefined) payment.vatId = null;
      let lines = body.lines.map(({ eventId, quantity }) => ({ eventId, quantity, unitPrice: w.events.find((one) => one.id === eventId).price }));
      if (is('order-last-line-lost') && lines.length > 1) lines = lines.slice(0, -1);
      if (is('order-lines-reversed')) lines.reverse();
      const order = compute({
        id: uuid(), number: `T-${String(++w.number).padStart(6, '0')}`, status: 'pending', customerId: body.customerId, lines, payment, voucherCode: body.voucherCode ?? null, delivery: body.delivery ?? (is('order-default-delivery') ? 'post' : 'email'), giftWrap: body.giftWrap ?? false, note: body.note ?? null,
        currency: 'EUR', channel: is('order-cookie-ignored') ? 'web' : (cookies.salesChannel ?? 'web'), createdAt: now(), paidAt: null, cancelledAt: null, cancelReason: null,
      }, voucher);
      if (is('order-total-first-line')) order.total = order.lines[0].lineTotal;
      if (is('order-linetotal-unit')) order.lines = order.lines.map((line) => ({ ...line, lineTotal: line.unitPrice }));
      if (is('order-giftwrap-lost')) order.giftWrap = false;
      if (is('order-created-paid')) { order.status = 'paid'; order.paidAt = order.createdAt; }
      w.orders.push(order);
      const shown = clone(order);
      if (is('order-note-not-stored')) order.note = null;
      const answer = { status: 201, headers: { Location: is('order-location-number') ? `/orders/${order.number}` : `/orders/${order.id}` }, body: shown };
      if (key !== undefined) w.keys.set(key, { raw, answer: clone(answer) });
      return answer;
    },
    getOrder({ w, path, headers }) {
      let order = (is('order-tenant-read') ? [...tenants.a.orders, ...tenants.b.orders] : w.orders).find((one) => one.id === path.orderId) ?? refuse(404, 'No such order');
      const out = {};
      if (headers['x-request-id'] !== undefined) out['X-Request-Id'] = is('order-request-id-wrong') ? uuid() : headers['x-request-id'];
      order = clone(order);
      if (is('order-single-total-differs')) order.total = order.subtotal.replace(/\d\d$/, '01');
      return { status: 200, headers: out, body: order };
    },
    payOrder({ w, path }) {
      const order = find(w.orders, path.orderId, 'order');
      if (order.status !== 'pending' && !(is('order-pay-twice') && order.status === 'paid')) refuse(409, 'The order is not pending');
      const paid = { ...order, status: 'paid', paidAt: now() };
      if (is('order-pay-paidAt-null')) paid.paidAt = null;
      if (is('order-pay-changes-nothing')) return { status: 200, body: clone(paid) };
      if (is('order-pay-moves-createdAt')) paid.createdAt = paid.paidAt;
      Object.assign(order, paid);
      if (is('order-pay-stays-pending')) order.status = 'pending';
      return { status: 200, body: clone(order) };
    },
    cancelOrder({ w, path, body }) {
      const order = find(w.orders, path.orderId, 'order');
      if (order.status === 'cancelled' && !is('order-cancel-twice')) refuse(409, 'The order is cancelled');
      if (is('order-cancel-paid-refused') && order.status === 'paid') refuse(409, 'A paid order cannot be cancelled');
      if (is('order-cancel-not-stored')) return { status: 200, body: { ...clone(order), status: 'cancelled', cancelledAt: now(), cancelReason: body.reason ?? null } };
      order.status = 'cancelled';
      order.cancelledAt = now();
      order.cancelReason = is('order-cancel-reason-lost') ? null : (body.reason ?? null);
      if (!is('order-cancel-tickets-kept')) for (const line of order.lines) { const event = w.events.find((one) => one.id === line.eventId); if (event) event.sold = Math.max(0, event.sold - line.quantity); }
      return { status: 200, body: clone(order) };
    },
    listCustomers({ w, query: q }) {
      let rows = w.customers.map((customer) => showCustomer(w, customer));
      if (is('customer-deleted-still-listed')) rows.push(...(w.gone ?? []));
      const keep = (name, test) => {
        if (q[name] !== undefined && !is(`customers-filter-${name}-ignored`)) rows = rows.filter(test);
      };
      keep('q', (row) => has(row.name, q.q) || has(row.email, q.q));
      keep('tier', (row) => row.tier === q.tier);
      keep('newsletter', (row) => (is('customers-newsletter-false-none') && !q.newsletter ? false : row.newsletter === q.newsletter));
      keep('country', (row) => (is('customers-country-includes-null') ? (row.address?.country ?? q.country) === q.country : row.address?.country === q.country));
      keep('bornBefore', (row) => row.birthDate !== null && row.birthDate < q.bornBefore);
      const turned = q.sort.startsWith('-');
      const key = turned ? q.sort.slice(1) : q.sort;
      rows.sort((a, b) => {
        const x = key === 'name' && !is('customers-sort-case') ? a.name.toLowerCase() : a[key];
        const y = key === 'name' && !is('customers-sort-case') ? b.name.toLowerCase() : b[key];
        if (x === null || y === null) { const by = x === y ? 0 : x === null ? 1 : -1; if (by) return is('customers-nulls-first-desc') && turned ? -by : by; return compare(a.id, b.id); }
        return (turned ? -1 : 1) * compare(x, y) || compare(a.id, b.id);
      });
      const limit = is('customers-default-limit') && !q.given.limit ? 10 : q.limit;
      return { status: 200, body: { items: rows.slice(q.offset, q.offset + limit), total: is('customers-total-off') ? rows.length + 1 : rows.length } };
    },
    createCustomer({ w, body }) {
      const taken = (email) => w.customers.some((one) => one.email.toLowerCase() === email.toLowerCase());
      if (taken(body.email) && !is('customer-email-twice')) refuse(409, 'Another customer has this e-mail address');
      const at = now();
      const { phone = null, birthDate = null, address = null, newsletter = is('customer-default-newsletter'), tier = is('customer-default-tier') ? 'silver' : 'standard', preferences = {}, ...rest } = body;
      const customer = { id: uuid(), ...rest, phone, birthDate, address, newsletter, tier, preferences, createdAt: at, updatedAt: at };
      if (is('customer-email-lowered')) customer.email = customer.email.toLowerCase();
      if (is('customer-tier-upgraded') && tier === 'gold') customer.tier = 'silver';
      w.customers.push(customer);
      const shown = showCustomer(w, customer);
      if (is('customer-address-city-not-stored') && customer.address) customer.address = { ...customer.address, city: 'Unknown' };
      if (is('customer-preferences-not-stored')) customer.preferences = {};
      return { status: 201, headers: { Location: `/customers/${customer.id}`, ETag: is('customer-create-etag-wrong') ? tagOf([shown]) : tagOf(shown) }, body: shown };
    },
    getCustomer({ w, path, headers }) {
      const customer = find([...w.customers, ...(is('customer-deleted-still-read') ? (w.gone ?? []) : [])], path.customerId, 'customer');
      const body = showCustomer(w, customer);
      const tag = is('customer-etag-constant') ? '"first"' : tagOf(body);
      if (headers['if-none-match'] === tag && !is('customer-never-304')) return { status: 304, headers: { ETag: tag } };
      if (is('customer-single-tier-stale')) body.tier = 'standard';
      if (is('customer-get-touches')) customer.updatedAt = now();
      return { status: 200, headers: { ETag: tag }, body };
    },
    updateCustomer({ w, path, headers, body }) {
      const customer = find(w.customers, path.customerId, 'customer');
      const current = is('customer-etag-constant') ? '"first"' : tagOf(showCustomer(w, customer));
      if (headers['if-match'] !== current && !is('customer-if-match-ignored') && !(is('r-customer-if-match-optional') && headers['if-match'] === undefined)) refuse(412, 'The customer has changed');
      if (body.email !== undefined && !is('customer-patch-email-twice') && w.customers.some((one) => one !== customer && one.email.toLowerCase() === body.email.toLowerCase())) refuse(409, 'Another customer has this e-mail address');
      const before = clone(customer);
      const { address, preferences, ...plain } = body;
      if (Object.keys({ ...customer.preferences, ...preferences }).length > 5) refuse(422, 'There are more than five preferences');
      Object.assign(customer, plain);
      if (address !== undefined) customer.address = address === null ? null : { ...(customer.address ?? {}), ...address };
      if (preferences !== undefined) customer.preferences = is('customer-patch-preferences-replaced') ? preferences : { ...customer.preferences, ...preferences };
      if (!is('customer-updatedAt-still')) customer.updatedAt = now();
      if (is('customer-createdAt-moves')) customer.createdAt = customer.updatedAt;
      if (is('customer-patch-clears-phone') && body.phone === undefined) customer.phone = null;
      if (is('customer-patch-clears-newsletter') && body.newsletter === undefined) customer.newsletter = false;
      if (is('customer-patch-null-ignored')) for (const name of ['phone', 'birthDate', 'address']) if (body[name] === null) customer[name] = before[name];
      if (is('customer-patch-first-member-only')) for (const name of Object.keys(body).slice(1)) customer[name] = before[name];
      const shown = showCustomer(w, customer);
      if (is('customer-patch-not-stored')) for (const key of Object.keys(before)) customer[key] = before[key];
      if (is('customer-patch-birthDate-not-stored')) customer.birthDate = before.birthDate;
      return { status: 200, headers: { ETag: is('customer-patch-etag-old') ? current : is('customer-etag-constant') ? '"first"' : tagOf(shown) }, body: is('customer-patch-answers-old') ? showCustomer(w, before) : shown };
    },
    deleteCustomer({ w, path, headers }) {
      const customer = find(w.customers, path.customerId, 'customer');
      if (headers['if-match'] !== undefined && headers['if-match'] !== (is('customer-etag-constant') ? '"first"' : tagOf(showCustomer(w, customer))) && !is('customer-delete-if-match-ignored')) refuse(412, 'The customer has changed');
      if (is('customer-delete-ignored')) return { status: 204 };
      w.customers = w.customers.filter((one) => one !== customer);
      (w.gone ??= []).push(is('customer-deleted-still-listed') ? showCustomer(w, customer) : customer);
      if (is('customer-delete-removes-two') && w.customers.length) w.customers.pop();
      if (is('customer-delete-drops-orders')) w.orders = w.orders.filter((order) => order.customerId !== customer.id);
      return { status: 204 };
    },
    getVoucher({ w, path }) {
      const voucher = w.vouchers.get(path.code) ?? (is('voucher-tenant-leak') ? tenants.a.vouchers.get(path.code) : undefined) ?? refuse(404, 'No such voucher');
      return { status: 200, headers: { ETag: tagOf(voucher) }, body: clone(voucher) };
    },
    putVoucher({ w, path, headers, body }) {
      const before = w.vouchers.get(path.code);
      if (headers['if-match'] !== undefined && (!before || headers['if-match'] !== tagOf(before)) && !is('voucher-if-match-ignored')) refuse(412, 'The voucher has changed');
      const at = now();
      const { validFrom = null, maxUses = is('voucher-default-maxUses') ? 100 : 1, eventIds = [], note = null, ...rest } = body;
      let voucher = { code: path.code, ...rest, validFrom, maxUses, eventIds, note, uses: before?.uses ?? 0, createdAt: is('voucher-createdAt-moves') ? at : (before?.createdAt ?? at), updatedAt: is('voucher-updatedAt-still') ? (before?.updatedAt ?? at) : at };
      if (before && is('voucher-replace-keeps')) voucher = { ...voucher, note: body.note === undefined ? before.note : note, maxUses: body.maxUses ?? before.maxUses, validFrom: body.validFrom === undefined ? before.validFrom : validFrom };
      if (is('voucher-amount-as-percent') && voucher.discount.kind === 'amount') voucher = { ...voucher, discount: { kind: 'amount', amount: '1.00' } };
      if (is('voucher-event-ids-capped')) voucher.eventIds = voucher.eventIds.slice(0, 1);
      const stored = before && is('voucher-replace-ignored') ? before : voucher;
      w.vouchers.set(path.code, clone(stored));
      if (before) return { status: is('voucher-replace-201') ? 201 : 200, headers: { ETag: tagOf(stored), ...(is('voucher-replace-201') ? { Location: `/vouchers/${path.code}` } : {}) }, body: voucher };
      return { status: is('voucher-create-200') ? 200 : 201, headers: { Location: is('voucher-location-wrong') ? `/vouchers/${path.code.toLowerCase()}` : `/vouchers/${path.code}`, ETag: tagOf(voucher) }, body: voucher };
    },
    requestReport({ w, body }) {
      const paid = w.orders.filter((order) => order.status === 'paid');
      const report = { id: uuid(), kind: body.kind, months: body.months ?? (is('report-default-months') ? 6 : 12), ...(body.countries ? { countries: body.countries } : {}), threshold: body.threshold ?? 0.5, state: 'running', requestedAt: now(), result: null };
      const result = { orders: w.orders.length, paid: paid.length, cancelled: w.orders.filter((order) => order.status === 'cancelled').length, revenue: money(paid.reduce((sum, order) => sum + cents(order.total), 0n)) };
      if (is('report-counts-wrong')) result.orders = w.orders.length - result.cancelled - 1;
      w.reports.push({ report, result, ready: Date.now() + 60 });
      return { status: 202, headers: { Location: is('report-location-missing-thing') ? `/reports/${uuid()}` : `/reports/${report.id}`, 'Retry-After': '0' }, body: clone(report) };
    },
    getReport({ w, path }) {
      const entry = w.reports.find((one) => one.report.id === path.reportId) ?? refuse(404, 'No such report');
      const done = Date.now() >= entry.ready && !is('report-never-done');
      const body = done ? { ...entry.report, state: 'done', result: entry.result } : { ...entry.report };
      if (is('report-kind-flipped')) body.kind = body.kind === 'sales' ? 'attendance' : 'sales';
      return { status: 200, body };
    },
  };

  // ---- routes of the document
  const ajv = new Ajv({ strict: false, allErrors: false });
  formats(ajv);
  const routes = [];
  const operations = {};
  for (const [template, item] of Object.entries(doc.paths)) {
    const pattern = new RegExp(`^${template.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
    const route = { template, pattern, methods: {} };
    routes.push(route);
    for (const method of ['get', 'post', 'put', 'patch', 'delete', 'head']) {
      const op = item[method];
      if (!op) continue;
      const content = op.requestBody?.content;
      operations[op.operationId] = route.methods[method.toUpperCase()] = {
        id: op.operationId, responses: op.responses, scopes: (op.security ?? doc.security)[0].bearer, parameters: structuredClone([...(item.parameters ?? []), ...(op.parameters ?? [])]),
        media: content ? Object.keys(content) : [], bodyRequired: op.requestBody?.required ?? false, schema: content ? structuredClone(forRequest(Object.values(content)[0].schema)) : undefined,
      };
    }
  }
  const parameter = (op, name) => operations[op].parameters.find((one) => one.name === name);
  active?.mutate?.({ op: (id) => operations[id], schema: (id) => operations[id].schema, param: (op, name) => parameter(op, name).schema, parameter });
  for (const op of Object.values(operations)) {
    if (op.schema) op.validate = ajv.compile(op.schema);
    for (const one of op.parameters) one.validate = ajv.compile(one.schema);
  }

  const typesOf = (schema) => [schema.type ?? []].flat();
  function read(one, text, schema = one.schema) {
    const types = typesOf(schema);
    if (types.includes('array')) return text === '' ? [] : text.split(',').map((part) => read(one, part, schema.items));
    if (types.includes('integer')) return /^-?\d+$/.test(text) ? Number(text) : text;
    if (types.includes('number')) return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
    if (types.includes('boolean')) return text === 'true' ? true : text === 'false' ? false : text;
    return text;
  }

  async function serve(request) {
    const at = request.url.indexOf('?');
    const rawPath = at < 0 ? request.url : request.url.slice(0, at);
    let found = routes.find((route) => route.pattern.test(rawPath));
    if (!found && is('trailing-slash') && rawPath.endsWith('/')) found = routes.find((route) => route.pattern.test(rawPath.slice(0, -1)));
    if (!found) refuse(404, 'There is nothing here');
    if (is('undeclared-put-event') && request.method === 'PUT' && found.template === '/events/{eventId}') return { status: 200, body: { ok: true } };
    if (is('undeclared-delete-order') && request.method === 'DELETE' && found.template === '/orders/{orderId}') return { status: 204 };
    let op = found.methods[request.method];
    const head = request.method === 'HEAD';
    if (!op && head) op = found.methods.GET;
    if (!op) {
      const allow = Object.keys(found.methods);
      if (allow.includes('GET') && !allow.includes('HEAD')) allow.push('HEAD');
      if (is('method-404')) refuse(404, 'There is nothing here');
      if (is('method-no-allow')) return problem({ status: 405, title: 'The method is not allowed' });
      return problem({ status: 405, title: 'The method is not allowed' }, { Allow: is('method-allow-lies') ? 'GET, POST, PUT, PATCH, DELETE' : allow.join(', ') });
    }
    const ctx = { op: op.id, head, headers: request.headers, path: {}, query: { given: {} }, cookies: {} };

    // credentials
    const challenge = (error) => problem({ status: 401, title: 'Sign in' }, { 'WWW-Authenticate': `Bearer realm="stagedoor"${error ? ', error="invalid_token"' : ''}` });
    const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    let identity = Object.hasOwn(TOKENS, bearer ?? '') ? TOKENS[bearer] : undefined;
    if (!identity && bearer && active?.anyToken === op.id) identity = TOKENS['admin-a'];
    if (!identity && !request.headers.authorization && active?.open === op.id) identity = TOKENS['admin-a'];
    if (!identity || (identity.expired && active?.expired !== op.id)) return challenge(request.headers.authorization);
    if (active?.anyScope !== op.id && !op.scopes.every((scope) => identity.scopes.includes(scope))) refuse(403, 'The token lacks a scope');
    ctx.tenant = identity.tenant;
    ctx.w = tenants[identity.tenant];
    if (is('halls-tenant-leak') && op.id === 'listHalls') ctx.w = { ...ctx.w, venues: [...tenants.a.venues, ...tenants.b.venues], halls: [...tenants.a.halls, ...tenants.b.halls] };
    if (is('customer-tenant-read') && op.id === 'getCustomer') ctx.w = { ...ctx.w, customers: [...tenants.a.customers, ...tenants.b.customers] };
    if (is('customer-tenant-delete') && op.id === 'deleteCustomer' && tenants.a.customers.some((one) => rawPath.endsWith(one.id))) ctx.w = tenants.a;
    if (is('order-tenant-cancel') && op.id === 'cancelOrder') ctx.w = { ...ctx.w, orders: [...tenants.a.orders, ...tenants.b.orders], events: [...tenants.a.events, ...tenants.b.events] };

    // parameters
    const bad = (name, message) => refuse(400, 'A parameter breaks the contract', `${name} ${message}`, [{ pointer: `/${name}`, message }]);
    const decode = (text) => {
      try {
        return decodeURIComponent(text);
      } catch {
        refuse(400, 'The address is badly encoded');
      }
    };
    const sent = new Map();
    const rawQuery = at < 0 ? '' : request.url.slice(at + 1);
    for (const pair of rawQuery ? rawQuery.split('&') : []) {
      if (pair === '') continue;
      const eq = pair.indexOf('=');
      const name = decode((eq < 0 ? pair : pair.slice(0, eq)).replaceAll('+', ' '));
      const value = decode((eq < 0 ? '' : pair.slice(eq + 1)).replaceAll('+', ' '));
      sent.set(name, [...(sent.get(name) ?? []), value]);
    }
    for (const name of sent.keys()) if (!op.parameters.some((one) => one.in === 'query' && one.name === name) && active?.anyQuery !== op.id) bad(name.slice(0, 60), 'is unknown');
    const cookies = new Map((request.headers.cookie ?? '').split(';').map((part) => part.trim().split('=')).filter((part) => part[0]).map(([name, ...rest]) => [name, rest.join('=')]));
    const groups = found.pattern.exec(rawPath)?.groups ?? found.pattern.exec(rawPath.slice(0, -1))?.groups ?? {};
    for (const one of op.parameters) {
      let text;
      if (one.in === 'path') text = decode(groups[one.name]);
      if (one.in === 'header') text = request.headers[one.name.toLowerCase()];
      if (one.in === 'cookie') text = cookies.get(one.name);
      if (one.in === 'query') {
        const values = sent.get(one.name);
        if (values?.length > 1) bad(one.name, 'must be there once');
        text = values?.[0];
        ctx.query.given[one.name] = text !== undefined;
      }
      let value;
      if (text !== undefined) {
        value = read(one, text);
        if (active?.coerce?.[0] === op.id && active.coerce[1] === one.name && !one.validate(value)) { value = active.coerce[2](text); if (value === undefined) { ctx.query[one.name] = one.schema.default; continue; } }
        else if (!one.validate(value)) bad(one.name, one.validate.errors[0].message ?? 'is wrong');
      } else if (one.required) {
        if (one.name === 'If-Match') refuse(428, 'If-Match is missing');
        bad(one.name, 'is missing');
      } else if (one.in === 'query') value = structuredClone(one.schema.default);
      if (one.in === 'path') ctx.path[one.name] = value;
      if (one.in === 'query') ctx.query[one.name] = value;
      if (one.in === 'cookie' && value !== undefined) ctx.cookies[one.name] = value;
    }

    // body
    if (op.schema) {
      // what does not exist is told before its body is read
      if (ctx.path.venueId) find(ctx.w.venues, ctx.path.venueId, 'venue');
      if (ctx.path.orderId) find(ctx.w.orders, ctx.path.orderId, 'order');
      if (ctx.path.customerId) find(ctx.w.customers, ctx.path.customerId, 'customer');
      const bytes = await body(request);
      const type = (request.headers['content-type'] ?? '').toLowerCase();
      const [media, ...options] = type.split(';').map((part) => part.trim());
      const charset = options.find((part) => part.startsWith('charset='))?.slice(8).replaceAll('"', '');
      if (bytes.length && active?.anyMedia !== op.id && (!op.media.includes(media) || (charset && charset !== 'utf-8' && charset !== 'utf8'))) refuse(415, `Send ${op.media.join(' or ')}`);
      let value;
      if (bytes.length) {
        try {
          ctx.raw = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
          value = JSON.parse(ctx.raw);
        } catch {
          if (active?.crashJson === op.id) throw new Error('drift');
          refuse(400, 'The body is no JSON');
        }
      } else if (op.bodyRequired && active?.bodyOptional !== op.id) refuse(400, 'The body is missing');
      else value = {};
      active?.before?.(op.id, value, ctx);
      if (!op.validate(value)) {
        const error = op.validate.errors[0];
        if (active?.acceptBad?.[0] === op.id && active.acceptBad[1](error, value)) Object.assign(ctx, { lax: true });
        else refuse(active?.otherStatus?.[0] === op.id ? active.otherStatus[1] : 422, 'The body breaks its schema', error.message, [{ pointer: error.instancePath, message: error.message ?? 'is wrong' }]);
      }
      ctx.body = value;
    }
    active?.crash?.(op.id, ctx);
    if (active?.hang?.(op.id, ctx)) return null;
    const answer = await handlers[op.id === 'headEvent' ? 'getEvent' : op.id](ctx);
    answer.op = op.id;
    answer.ctx = ctx;
    return answer;
  }

  function body(request) {
    return new Promise((done, fail) => {
      const parts = [];
      let size = 0;
      request.on('data', (part) => {
        size += part.length;
        if (size <= 1_048_576) parts.push(part);
      });
      request.on('end', () => (size > 1_048_576 ? fail(new Refusal(413, 'The body is too large')) : done(Buffer.concat(parts))));
      request.on('error', fail);
    });
  }

  function problem({ status, title, detail, errors }, headers = {}) {
    return { status, headers: { 'Content-Type': 'application/problem+json', ...headers }, body: { type: `https://api.stagedoor.example.com/problems/${status}`, title, status, ...(detail ? { detail } : {}), ...(errors ? { errors } : {}) } };
  }

  const server = createServer({ maxHeaderSize: 1_048_576 }, async (request, response) => {
    let answer;
    let opId;
    try {
      answer = await serve(request);
    } catch (error) {
      if (error instanceof Refusal) answer = problem(error.answer);
      else if (error instanceof RangeError) answer = problem({ status: 400, title: 'The request is nested too deeply' });
      else {
        if (!drift) console.error(request.method, request.url, error);
        answer = problem({ status: 500, title: 'Something went wrong' });
      }
    }
    if (answer === null) return;
    opId = answer.op;
    answer.headers ??= {};
    if (active?.rewrite) {
      const route = routes.find((one) => one.pattern.test(request.url.split('?')[0]));
      opId ??= route?.methods[request.method]?.id;
      answer.body = answer.body === undefined ? undefined : clone(answer.body);
      active.rewrite(answer, { op: opId, method: request.method, url: request.url, query: answer.ctx?.query ?? {} });
    }
    request.resume();
    const text = answer.body === undefined ? '' : typeof answer.body === 'string' && answer.plain ? answer.body : JSON.stringify(answer.body);
    const headers = { ...(text ? { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) } : answer.status === 204 || answer.status === 304 ? {} : { 'Content-Length': 0 }), ...answer.headers };
    if (answer.rawBody) {
      // a body where there must be none: written by hand
      response.socket.end(`HTTP/1.1 ${answer.status} X\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(answer.rawBody)}\r\nConnection: close\r\n\r\n${answer.rawBody}`);
      return;
    }
    response.writeHead(answer.status, headers);
    response.end(request.method === 'HEAD' ? undefined : text);
  });
  server.on('clientError', (error, socket) => {
    if (!socket.writable) return;
    const text = JSON.stringify(problem({ status: 400, title: 'The request cannot be read' }).body);
    socket.end(`HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop: () => new Promise((done) => { server.closeAllConnections(); server.close(() => done()); }),
  };
}

const bearer = (token) => ({ authorization: `Bearer ${token}` });
export const auth = {
  caller: () => bearer('admin-a'),
  expired: () => bearer('expired-a'),
  forbidden: () => bearer('nothing-a'),
  otherTenant: () => bearer('admin-b'),
};
