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
        { lang: 'curl', label: 'curl', source: curlSample(operation) },
        { lang: 'typescript', label: 'TypeScript', source: clientSample(operation) },
      ],
    });
  }
  return withWebhooksApart(copy);
}

/** Gives the events a chapter of their own, as they are many and nobody calls them; extensions stay the last chapter. */
function withWebhooksApart(contract: Contract): Contract {
  const events = Object.values(contract.webhooks).flatMap((item) => Object.values(item));
  for (const event of events) Object.assign(event, { tags: ['webhooks'] });
  const chapter = {
    name: 'webhooks',
    'x-displayName': 'Webhooks',
    description: `What is sent to the address of a subscription: ${events.length} events in one form.`,
  };
  return { ...contract, tags: contract.tags.toSpliced(-1, 0, chapter) };
}
