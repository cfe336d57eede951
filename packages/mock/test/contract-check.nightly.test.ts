import { describeMock } from './contract-check.ts';

await describeMock();
