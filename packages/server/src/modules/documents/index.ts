export type { StoredAddress } from './format.ts';
export {
  addressLines,
  fileNamePart,
  formatAmount,
  formatDay,
  formatInstant,
  formatNumber,
  formatPeriod,
} from './format.ts';
export { renderThread } from './render-thread.ts';
export type { Writer } from './write-document.ts';
export { writeDocument } from './write-document.ts';
