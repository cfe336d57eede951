import { mergeClients } from './mergeClients.ts';

export const merging = { mergeClients };
