export { addressLines, type StoredAddress, storedAddress } from './address.ts';
export type { Language } from './format.ts';
export {
  fileNamePart,
  formatAmount,
  formatDay,
  formatInstant,
  formatMoney,
  formatNumber,
  formatPercent,
  formatPeriod,
  localeOf,
  pageTexts,
  paperIn,
  timeFormat,
} from './format.ts';
export { renderThread } from './render-thread.ts';
export { type Texts, textsOf } from './texts.ts';
export type { Writer } from './write-document.ts';
export { writeDocument } from './write-document.ts';
