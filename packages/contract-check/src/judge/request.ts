import type { Place } from '../document/document.ts';
import { groupOf } from '../document/operation.ts';
import { bodySchemaOf, type Call } from '../http/call.ts';
import type { Validators } from '../schema/validators.ts';
import { general } from './judge.ts';

/** A violation of the contract by a request. */
export interface RequestBreach {
  /** The parameter or the part of the body: `query.limit`, `body/name`. */
  readonly at: string;
  readonly keyword: string;
  readonly message: string;
  readonly place: Place | undefined;
}

/**
 * The violations of a call; the first part of each parameter and of the body comes first.
 *
 * @param callerHeaders lower-case names of headers that are added to every call, so that they are not missing.
 */
export function requestBreaches(
  validators: Validators,
  call: Call,
  callerHeaders: readonly string[] = [],
): RequestBreach[] {
  const { operation, body } = call;
  const missing = (at: string) => ({ at, keyword: 'required', message: 'is required', place: undefined });
  const named = (at: string, schema: Parameters<Validators['breaches']>[0], value: unknown) =>
    validators.breaches(schema, value, 'request').map(({ pointer, ...breach }) => ({ ...breach, at: at + pointer }));
  const ofParameters = operation.parameters.flatMap((parameter) => {
    const { name, in: place, required, schema } = parameter;
    const value = call[groupOf(parameter)][name];
    if (value !== undefined) return named(`${place}.${name}`, schema, value);
    const isMissing = required && !(place === 'header' && callerHeaders.includes(name.toLowerCase()));
    return isMissing ? [missing(`${place}.${name}`)] : [];
  });
  const schema = bodySchemaOf(call);
  if (body === undefined) return operation.body?.required === true ? [...ofParameters, missing('body')] : ofParameters;
  return schema === undefined ? ofParameters : [...ofParameters, ...named('body', schema, body)];
}

/** The violations of a call as one text, which is equal for calls with the same violations and empty for a valid call. */
export function breachesOf(validators: Validators, call: Call, callerHeaders: readonly string[]): string {
  const declared = new Set(call.operation.parameters.map((parameter) => `${groupOf(parameter)}.${parameter.name}`));
  const undeclared = (['query', 'headers', 'cookies'] as const).flatMap((group) =>
    Object.entries(call[group])
      .filter(([name, value]) => value !== undefined && !declared.has(`${group}.${name}`))
      .map(([name]) => `${group}.${name} unknown`),
  );
  const found = requestBreaches(validators, call, callerHeaders).map(({ at, keyword }) => `${general(at)} ${keyword}`);
  return [...new Set([...found, ...undeclared])].sort().join('\n');
}
