import { callerOf } from './call.mjs';
import { start } from './server.mjs';
import { drifts } from './drifts.mjs';
const only = process.argv.slice(2);
const observe = async (drift, probe) => {
  const s = await start(drift);
  const h = callerOf(s.url);
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
