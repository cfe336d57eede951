import type { Call } from '../http/call.ts';
import type { Validators } from '../schema/validators.ts';
import { general } from './judge.ts';

const members = { path: 'path', query: 'query', header: 'headers', cookie: 'cookies' } as const;

/**
 * The violations of a call as one text, which is equal for calls with the same violations and empty for a valid call.
 *
 * @param callerHeaders lower-case names of headers that are added to every call, so that they are not missing.
 */
export function breachesOf(validators: Validators, call: Call, callerHeaders: readonly string[]): string {
  const { operation, body, mediaType } = call;
  const found = operation.parameters.flatMap(({ name, in: place, required, schema }) => {
    const value = call[members[place]][name];
    if (value !== undefined) return named(`${place}.${name}`, validators, schema, value);
    const isMissing = required && !(place === 'header' && callerHeaders.includes(name.toLowerCase()));
    return isMissing ? [`${place}.${name} required`] : [];
  });
  const declared = new Set(operation.parameters.map(({ name, in: place }) => `${members[place]}.${name}`));
  const undeclared = (['query', 'headers', 'cookies'] as const).flatMap((group) =>
    Object.entries(call[group])
      .filter(([name, value]) => value !== undefined && !declared.has(`${group}.${name}`))
      .map(([name]) => `${group}.${name} unknown`),
  );
  const content = operation.body?.contents.find((one) => one.mediaType === mediaType);
  const inBody =
    body === undefined
      ? operation.body?.required === true
        ? ['body required']
        : []
      : content?.schema === undefined
        ? []
        : named('body', validators, content.schema, body);
  return [...new Set([...found, ...undeclared, ...inBody])].sort().join('\n');
}

function named(place: string, validators: Validators, schema: Parameters<Validators['breaches']>[0], value: unknown) {
  return validators
    .breaches(schema, value, 'request')
    .map(({ pointer, keyword }) => `${place}${general(pointer)} ${keyword}`);
}
