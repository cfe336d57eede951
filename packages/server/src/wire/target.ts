/** The target of a request (RFC 9112, section 3.2). */
export interface RequestTarget {
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
}

/** Scheme and authority of a target in absolute form. */
const origin = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i;

/** Returns undefined if the target is not a path, such as the `*` of a request about the server itself. */
export function readTarget(target: string): RequestTarget | undefined {
  if (target.startsWith('/')) return split(target);
  const [before] = origin.exec(target) ?? [];
  if (before === undefined || !URL.canParse(target)) return undefined;
  const { path, query } = split(target.slice(before.length));
  return { path: path === '' ? '/' : path, query };
}

function split(target: string): RequestTarget {
  // Not allowed in a target, and not part of the path.
  const fragment = target.indexOf('#');
  const text = fragment === -1 ? target : target.slice(0, fragment);
  const mark = text.indexOf('?');
  return mark === -1 ? { path: text, query: '' } : { path: text.slice(0, mark), query: text.slice(mark + 1) };
}
