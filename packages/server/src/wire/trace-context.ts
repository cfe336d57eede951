/** Version, trace, parent and flags; later versions may append fields after another hyphen. */
const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s;
const zeros = /^0+$/;

/** The only flag of version 00, and the only one to propagate from a later version. */
const sampled = 1;

/**
 * Returns the `traceparent` to propagate (W3C Trace Context, level 1, section 3.2), in version 00. Of later versions,
 * only the fields of version 00 are read. An invalid header is ignored.
 */
export function readTraceparent(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const [, version, trace = '', parent = '', flags = '', more] = form.exec(header) ?? [];
  const isKnown = version === '00';
  if (version === undefined || version === 'ff' || (isKnown && more !== undefined)) return undefined;
  if (zeros.test(trace) || zeros.test(parent)) return undefined;
  const passedOn = isKnown ? flags : `0${Number.parseInt(flags, 16) & sampled}`;
  return `00-${trace}-${parent}-${passedOn}`;
}
