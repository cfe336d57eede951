/** Samples that fit next to the text of the reference. */
const lineWidth = 64;

/**
 * A JSON value as people write it in TypeScript: bare keys, single quotes, and what is short on one line. `before` is how
 * many characters precede it on its line.
 */
export function literal(value: unknown, before: number, indent = ''): string {
  const line = oneLine(value);
  if (typeof value !== 'object' || value === null || before + line.length < lineWidth) return line;
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    return `[\n${value.map((item) => `${deeper}${literal(item, deeper.length, deeper)},\n`).join('')}${indent}]`;
  }
  const lines = Object.entries(value).map(([name, item]) => {
    const start = `${deeper}${key(name)}: `;
    return `${start}${literal(item, start.length, deeper)},\n`;
  });
  return `{\n${lines.join('')}${indent}}`;
}

function oneLine(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  const entries = Object.entries(value);
  return entries.length === 0
    ? '{}'
    : `{ ${entries.map(([name, item]) => `${key(name)}: ${oneLine(item)}`).join(', ')} }`;
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name);
}

function quoted(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
