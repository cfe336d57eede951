// Shows by a probe of its own that every drift changes what a caller sees.
import net from 'node:net';
import { drifts } from './drifts.mjs';
import { start } from './server.mjs';

const venueNew = { name: 'Probe hall', rows: [{ label: 'A', seats: 10 }] };
async function api(url) {
  const call = async (method, path, body, { token = 'admin-a', headers = {}, raw = false } = {}, media = 'application/json') => {
    const response = await fetch(url + path, { method, headers: { ...(token ? { Authorization: `Bearer ${token}` } : {}), ...(body !== undefined ? { 'Content-Type': media } : {}), ...headers }, body: body === undefined ? undefined : raw ? body : JSON.stringify(body) });
    const text = await response.text();
    let value;
    try { value = text ? JSON.parse(text) : undefined; } catch { value = text; }
    return { status: response.status, headers: Object.fromEntries(response.headers), body: value };
  };
  const a = {
    get: (path, options) => call('GET', path, undefined, options), head: (path, options) => call('HEAD', path, undefined, options), del: (path, options) => call('DELETE', path, undefined, options),
    post: (path, body, options) => call('POST', path, body, options), put: (path, body, options) => call('PUT', path, body, options), patch: (path, body, options, media = 'application/merge-patch+json') => call('PATCH', path, body, options, media),
    nobody: '00000000-0000-4000-8000-000000000000', card: { method: 'card', brand: 'visa', cardNumber: '4111111111112222', expiry: '12/30' },
  };
  let n = 0;
  // prepared through a correct call of the list each; a drift may have spoiled single members
  const events = (await a.get('/events?limit=99')).body.items;
  a.event = events.find((e) => e.ticketsAvailable > 20 && e.title === 'Hamlet') ?? events[0];
  a.big = events.find((e) => e.ticketsTotal === 1000 && e.price !== '0.00' && e.id !== a.event.id) ?? events[1];
  const venues = (await a.get('/venues?limit=100')).body.items;
  a.venue = venues[3];
  a.venueWithHalls = async () => venues.findLast((v) => v.hallCount === 3).id;
  a.eventWithHalls = events.find((e) => venues.find((v) => v.id === e.venueId)?.hallCount > 0);
  a.order = (await a.get('/orders?limit=50')).body.items.findLast((o) => o.lines.length === 2);
  a.customer = (await a.get('/customers?limit=100')).body.items[3];
  a.newHall = (over = {}) => a.post(`/venues/${a.venue.id}/halls`, { ...venueNew, ...over });
  a.newEvent = (over = {}) => a.post('/events', { title: 'Probe', category: 'comedy', venueId: a.venue.id, startsAt: '2031-05-01T20:30:00Z', price: '12.50', ticketsTotal: 100, organizer: { name: 'Probe Ltd', email: 'p@example.com' }, ...over });
  a.newCustomer = (over = {}) => a.post('/customers', { name: 'Probe', email: `probe${++n}@example.com`, ...over });
  a.newOrder = (over = {}, options = {}) => a.post('/orders', { customerId: a.customer.id, lines: [{ eventId: a.event.id, quantity: 1 }], payment: a.card, ...over }, options);
  a.patchNew = async (body, media) => {
    const c = await a.newCustomer({ phone: '+49123456789', newsletter: true, birthDate: '1980-01-01', preferences: { a: '1' } });
    return a.patch(`/customers/${c.body.id}`, body, { headers: { 'If-Match': (await a.get(`/customers/${c.body.id}`)).headers.etag } }, media);
  };
  a.report = async () => {
    const at = (await a.post('/reports', { kind: 'sales' })).headers.location;
    await new Promise((done) => setTimeout(done, 90));
    return (await a.get(at)).body;
  };
  a.silent = async (path) => { try { await fetch(url + path, { headers: { Authorization: 'Bearer admin-a' }, signal: AbortSignal.timeout(300) }); return false; } catch { return true; } };
  a.socket = (method, path) => new Promise((done) => {
    const { hostname, port } = new URL(url);
    let text = '';
    const socket = net.connect(port, hostname, () => socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin-a\r\nConnection: close\r\n\r\n`));
    socket.on('data', (d) => { text += d; });
    socket.on('close', () => done(text));
  });
  return a;
}

const value = async (drift, probe) => {
  const server = await start(drift);
  try { return JSON.stringify(await probe(await api(server.url))) ?? 'nothing'; } catch (error) { return `threw ${error.message}`; } finally { await server.stop(); }
};
let bad = 0;
const seen = new Set();
for (const drift of drifts.filter((one) => !process.argv[2] || one.name.includes(process.argv[2]))) {
  if (seen.has(drift.name)) { bad++; console.log('TWICE', drift.name); }
  seen.add(drift.name);
  const right = await value(undefined, drift.probe);
  const again = await value(undefined, drift.probe);
  const wrong = await value(drift.name, drift.probe);
  const problem = right !== again ? 'UNSTABLE' : right === wrong ? 'SAME' : right.startsWith('threw') ? 'PROBE FAILS' : wrong.startsWith('threw') ? 'DRIFT THREW' : undefined;
  if (problem || process.argv[2]) { if (problem) bad++; console.log(problem ?? 'ok', drift.name, right.slice(0, 200), '|', wrong.slice(0, 200)); }
}
console.log(`${drifts.length} drifts, ${bad} not shown`);
