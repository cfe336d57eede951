/**
 * The value of a member of a JSON object, as it is written there but without white space between its parts. Parsing it and
 * writing it again would change numbers, escapes and the order of some keys.
 *
 * @param json a valid object that has the member.
 */
export function compactMember(json: string, name: string): string {
  const tokens = json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g);
  let depth = 0;
  let key: string | undefined;
  let value = '';
  let found = '';
  for (const [token] of tokens) {
    if (depth === 1 && key === undefined && token.startsWith('"')) key = JSON.parse(token);
    else if (depth === 1 && (token === ',' || token === '}')) {
      // Of members with the same name, the last one counts.
      if (key === name) found = value.slice(1);
      [key, value] = [undefined, ''];
    } else if (depth > 0) value += token;
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
  }
  return found;
}
