import { auth } from './server.mjs';
// Calls a server as the drifts' probes do.
export const callerOf = (url) => async (method, path, body, headers = {}) => {
  const raw = typeof body === 'string' || body instanceof FormData || body === undefined;
  const r = await fetch(url + path, { method, body: raw ? body : JSON.stringify(body), headers: { ...auth.caller(), ...(raw ? {} : { 'content-type': 'application/json' }), ...Object.fromEntries(Object.entries(headers).map(([k, v]) => [{ 'x-api-key': 'X-Api-Key', cookie: 'Cookie' }[k] ?? k, v])) } });
  const buffer = Buffer.from(await r.arrayBuffer());
  let b = buffer.toString(); try { b = JSON.parse(b); } catch {}
  return { s: r.status, h: Object.fromEntries(r.headers), b, raw: buffer.toString('hex') };
};
