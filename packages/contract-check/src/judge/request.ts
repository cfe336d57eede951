import { groupOf } from '../document/operation.ts';
import { bodySchemaOf, type Call } from '../http/call.ts';
import type { JsonObject } from '../json.ts';
import type { Validators } from '../schema/validators.ts';
import { general } from './judge.ts';

/**
 * The violations of a call as one text, which is equal for calls with the same violations and empty for a valid call.
 *
 * @param callerHeaders lower-case names of headers that are added to every call, so that they are not missing.
 */
export function breachesOf(validators: Validators, call: Call, callerHeaders: readonly string[]): string {
  const { parameters, body } = call.operation;
  const named = (at: string, schema: JsonObject, value: unknown) =>
    validators.breaches(schema, value, 'request').map(({ pointer, keyword }) => `${general(at + pointer)} ${keyword}`);
  const ofParameters = parameters.flatMap((parameter) => {
    const { name, in: place, required, schema } = parameter;
    const value = call[groupOf(parameter)][name];
    if (value !== undefined) return named(`${place}.${name}`, schema, value);
    const isMissing = required && !(place === 'header' && callerHeaders.includes(name.toLowerCase()));
    return isMissing ? [`${place}.${name} required`] : [];
  });
  const declared = new Set(parameters.map((parameter) => `${groupOf(parameter)}.${parameter.name}`));
  const undeclared = (['query', 'headers', 'cookies'] as const).flatMap((group) =>
    Object.entries(call[group])
      .filter(([name, value]) => value !== undefined && !declared.has(`${group}.${name}`))
      .map(([name]) => `${group}.${name} unknown`),
  );
  const schema = bodySchemaOf(call);
  const ofBody =
    call.body === undefined
      ? body?.required === true
        ? ['body required']
        : []
      : schema === undefined
        ? []
        : named('body', schema, call.body);
  return [...new Set([...ofParameters, ...ofBody, ...undeclared])].sort().join('\n');
}
