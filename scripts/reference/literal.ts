/** Maximum width of samples next to the text of the reference. */
const lineWidth = 64;

/**
 * Formats a JSON value in common TypeScript style: bare keys, single quotes, and short values on one line. `before` is
 * the number of characters before it on its line.
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
