/** The contract as the reference shows it: with samples, and with what its extensions say in words. Nothing of it is kept. */
import { type Contract, operationsOf } from '../../packages/mock/src/contract.ts';
import { operations as index } from '../../packages/spec/src/index.ts';
import { facts } from './facts.ts';
import { clientSample, curlSample } from './samples.ts';

export function described(contract: Contract): Contract {
  const copy = structuredClone(contract);
  for (const operation of operationsOf(contract)) {
    const entry = index[operation.id];
    const shown = copy.paths[operation.path]?.[operation.method.toLowerCase()];
    if (typeof shown !== 'object' || shown === null)
      throw new Error(`The bundle has no ${operation.method} ${operation.path}.`);
    Object.assign(shown, {
      description: `${'description' in shown ? shown.description : ''}\n\n${facts(entry)}\n`,
      'x-codeSamples': [
        { lang: 'Shell', label: 'curl', source: curlSample(operation) },
        { lang: 'TypeScript', label: 'TypeScript', source: clientSample(operation) },
      ],
      ...(entry.extension && { 'x-badges': [{ name: 'Extension' }] }),
    });
  }
  return copy;
}
