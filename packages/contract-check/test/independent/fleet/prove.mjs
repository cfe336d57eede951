import { start, auth } from './server.mjs';
import { drifts } from './drifts.mjs';
const only = process.argv.slice(2);
const observe = async (drift, probe) => {
  const s = await start(drift);
  const h = async (method, path, body, headers = {}) => {
    const raw = typeof body === 'string' || body instanceof FormData || body === undefined;
    const r = await fetch(s.url + path, { method, body: raw ? body : JSON.stringify(body), headers: { ...auth.caller(), ...(raw ? {} : { 'content-type': 'application/json' }), ...Object.fromEntries(Object.entries(headers).map(([k, v]) => [{ 'x-api-key': 'X-Api-Key', cookie: 'Cookie' }[k] ?? k, v])) } });
    const buffer = Buffer.from(await r.arrayBuffer());
    let b = buffer.toString(); try { b = JSON.parse(b); } catch {}
    return { s: r.status, h: Object.fromEntries(r.headers), b, raw: buffer.toString('hex') };
  };
  try { return JSON.stringify(await probe(h)) ?? 'undefined'; } catch (e) { return `threw ${e.message}`; } finally { s.stop(); }
};
const mask = (x) => x.replace(/HB-Q \d+/g, 'HB-Q');
let bad = 0;
for (const d of drifts) {
  if (only.length && !only.includes(d.name)) continue;
  if (drifts.filter((x) => x.name === d.name).length > 1) console.log('TWICE', d.name);
  const a = mask(await observe(undefined, d.probe)), b = mask(await observe(d.name, d.probe)), a2 = mask(await observe(undefined, d.probe));
  const proven = a !== b && a === a2 && !a.startsWith('threw');
  if (!proven) { bad++; console.log('NOT PROVEN', d.name, a.slice(0, 300), '|', b.slice(0, 300), '|', a2.slice(0, 100)); }
  else if (only.length) console.log('ok', d.name, a.slice(0, 300), '->', b.slice(0, 300));
}
const kinds = {}; for (const d of drifts) kinds[d.kind] = (kinds[d.kind] ?? 0) + 1;
console.log(drifts.length, 'drifts', kinds, bad, 'not proven');
process.exit(bad ? 1 : 0);
