export type { StoredAddress } from './address.ts';
export { addressLines } from './address.ts';
export { fileNamePart } from './file-name.ts';
export { formatAmount, formatDay, formatInstant, formatNumber } from './format.ts';
export { renderThread } from './render-thread.ts';
export type { Writer } from './write-document.ts';
export { writeDocument } from './write-document.ts';
