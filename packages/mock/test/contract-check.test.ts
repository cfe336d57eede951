import { operationsOf, readContract } from '../src/contract.ts';
import { describeMock } from './contract-check.ts';

/** Every fourth operation: the mock works alike for all of them. */
const sample = operationsOf(await readContract()).filter((_, index) => index % 4 === 0);
await describeMock(sample.map(({ id }) => id));
