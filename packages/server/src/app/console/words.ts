import { contract, type Schema, schemaOf } from '../../contract/contract.ts';

const schemas = Object.values(contract.components.schemas);

/** The words that people read in place of names of the contract. What is not listed here follows from the name itself. */

/** By type, one row and several. */
const types: Readonly<Record<string, readonly [one: string, several: string]>> = {
  WipEntry: ['Work in progress', 'Work in progress'],
  GlMapping: ['Ledger account', 'Ledger accounts'],
  Project: ['Job with figures', 'Jobs with figures'],
  NonWorkCode: ['Non-work code', 'Non-work codes'],
  Staff: ['Staff member', 'Staff'],
  File: ['Document', 'Documents'],
  Org: ['Organization', 'Organizations'],
  QuickPaymentLink: ['Payment link', 'Payment links'],
  ClientBusinessEntity: ['Legal form', 'Legal forms'],
  ContactInfo: ['Contact details', 'Contact details'],
  ContactClient: ['Contact of a client', 'Contacts of clients'],
  DraftInvoiceHistory: ['Revision of a draft', 'Revisions of drafts'],
  StaffJobAssignment: ['Job assignment', 'Job assignments'],
  StaffTaskAssignment: ['Task assignment', 'Task assignments'],
  EngagementDocument: ['Letter', 'Letters'],
  EventSubscription: ['Subscription', 'Subscriptions'],
};

const fieldNames: Readonly<Record<string, string>> = {
  systemRef: 'Key in other systems',
  sysRefs: 'More keys in other systems',
  pmsRef: 'Reference of the practice system',
  allowedClientIds: 'Allowed client IDs',
  overdueAt: 'Overdue since',
  unbilledWip: 'Unbilled work',
  wipType: 'Kind of work',
  pdfFileId: 'PDF document',
  rateCardAssignment: 'Rates',
  ageDays: 'Age in days',
  orgId: 'Organization',
  sizeBytes: 'Size in bytes',
  durationMs: 'Milliseconds',
  last4: 'Last four digits',
  days1To30: '1–30 days',
  days31To60: '31–60 days',
  days61To90: '61–90 days',
  daysOver90: 'Over 90 days',
  through: 'Last day of the period',
  requestId: 'Request ID',
  openingBalance: 'Balance before',
  closingBalance: 'Balance at the end',
  data: 'Entries',
};

/** How a filter compares, in words, and the operators that do it: the first one that a field has. */
export const comparisons = {
  has: ['contains', '_ilike', '_contains', '_eq', '='],
  is: ['is', '_contains', '_eq', '='],
  not: ['is not', '_neq'],
  least: ['is at least', '_gte'],
  most: ['is at most', '_lte'],
  empty: ['is empty', '_is_null'],
} as const;
export type FilterWord = keyof typeof comparisons;

/** Other words of operators than those of their first comparison. */
const operators: Readonly<Record<string, string>> = {
  '=': 'is',
  _eq: 'is',
  _in: 'is one of',
  _nin: 'is none of',
  _is_null: 'is empty:',
  _gt: 'is more than',
  _lt: 'is less than',
  _search: 'contains',
};

/** By the state that a row gets, or by the state before and after. */
const transitions: Readonly<Record<string, string>> = {
  ACTIVE: 'Activate',
  APPROVED: 'Approve',
  ARCHIVED: 'Archive',
  CANCELLED: 'Cancel',
  CLOSED: 'Close',
  COMPLETED: 'Complete',
  DELETED: 'Delete',
  DRAFT: 'Return to draft',
  FAILED: 'Mark as failed',
  IN_PROGRESS: 'Start work',
  IN_REVIEW: 'Submit for review',
  INACTIVE: 'Make inactive',
  ON_HOLD: 'Put on hold',
  OPEN: 'Undo the write-off',
  PARTIALLY_REFUNDED: 'Refund a part',
  POSTED: 'Post',
  READY: 'Mark as ready',
  REFUNDED: 'Refund all',
  REJECTED: 'Reject',
  RETURNED: 'Mark as returned',
  SENT: 'Send',
  SUBMITTED: 'Submit',
  VOIDED: 'Void',
  WAITING: 'Wait',
  WRITTEN_OFF: 'Write off',
  'POSTED PAID': 'Settle the rest',
  'PARTIALLY_PAID PAID': 'Settle the rest',
  'PAID POSTED': 'Undo the settled rest',
  'PAID PARTIALLY_PAID': 'Undo the settled rest',
  'WRITTEN_OFF POSTED': 'Undo the write-off',
  'WRITTEN_OFF PARTIALLY_PAID': 'Undo the write-off',
  'WRITTEN_OFF PARTIALLY_BILLED': 'Undo a part of the write-off',
  'CLOSED COMPLETED': 'Open again',
  'COMPLETED IN_PROGRESS': 'Open again',
  'SENT DRAFT': 'Recall',
  'PARTIALLY_REFUNDED PARTIALLY_REFUNDED': 'Refund another part',
};

const acronyms = /\b(ach|api|csv|dms|id|llc|llp|pdf|po|pto|uri|url|usd|vat|wip)\b/g;

/** A name such as `invoiceDate` or `InvoiceLine` in words. */
function inWords(name: string): string {
  const words = name
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .replaceAll(acronyms, (acronym) => acronym.toUpperCase());
  return sentence(words);
}

export function typeInWords(type: string): string {
  return types[type]?.[0] ?? inWords(type);
}

/** The standard types that have events, by their words in lower case. */
export const eventTypes: ReadonlyMap<string, string> = new Map(
  Object.values(contract.webhooks).map(({ post }) => {
    const { entityType } = post['x-event'];
    return [typeInWords(entityType).toLowerCase(), entityType];
  }),
);

export function typesInWords(type: string): string {
  const one = typeInWords(type);
  return types[type]?.[1] ?? (/[^aeo]y$/.test(one) ? `${one.slice(0, -1)}ies` : one.endsWith('s') ? one : `${one}s`);
}

export function fieldInWords(name: string): string {
  // A firm can name a field `constructor`.
  const known = Object.hasOwn(fieldNames, name) ? fieldNames[name] : undefined;
  if (known !== undefined) return known;
  const short = name
    .replace(/^is(?=[A-Z])/, '')
    .replace(/(?<=[a-z])Ids$/, 's')
    .replace(/(?<=[a-z])(?<!^(?:vat|tax))(Id|At)$/, '')
    .replace(/^(client|job|staff|engagement)Ref$/, '$1Number')
    .replace(/Ref$/, 'Reference');
  return inWords(short);
}

/** The button that creates a row, which can refer to another one by a field. Invoices of the firm come from its drafts. */
export function newInWords(type: string, field = ''): string {
  if (field === 'creditedInvoiceId') return 'Credit it';
  const known: Readonly<Record<string, string>> = { Invoice: 'Import an invoice', File: 'Upload a document' };
  return known[type] ?? `New ${typeInWords(type).toLowerCase()}`;
}

/** By operation. */
const actions: Readonly<Record<string, string>> = {
  sendInvoice: 'Send',
  mergeClients: 'Merge into another client',
  createProjectsFromTemplate: 'Create a job from it',
  deactivateCustomRecordType: 'Deactivate',
  sendTestEvent: 'Send a test event',
  recoverEvents: 'Deliver failed events again',
  deactivateEventSubscription: 'Deactivate',
  reactivateEventSubscription: 'Reactivate',
  advanceSandboxClock: 'Advance the clock',
  rotateWebhookSecret: 'Rotate the secret',
  getWebhookSecret: 'Secret of deliveries',
  getSandboxClock: 'Clock',
  listEngagementDocuments: 'Letters',
  listContactsByClient: 'Contacts',
  getClientStatement: 'Statement of account',
};

export function actionInWords(operation: string): string {
  return actions[operation] ?? inWords(operation);
}

/** A subject of the contract, by which lists are grouped. */
export function subjectInWords(tag: string): string {
  return tag === 'records' ? 'Codes and settings' : inWords(tag);
}

const values: Readonly<Record<string, string>> = {
  C_CORP: 'C corporation',
  S_CORP: 'S corporation',
  CAS: 'Client accounting',
  FORM_1120S: 'Form 1120-S',
  ubl: 'UBL (Peppol)',
  xrechnung: 'XRechnung',
  facturx: 'Factur-X',
};

/** What short codes mean, such as those of units, by the tables and lists in their descriptions. */
const codes: ReadonlyMap<string, string> = new Map(schemas.flatMap(codesIn));

function codesIn({ enum: all = [], description = '' }: Schema): (readonly [code: string, meaning: string])[] {
  if (all.some((code) => String(code).length > 3)) return [];
  const lines = description.matchAll(/^(?:\| (`.+`) \| (.+) \||- (`\w+`): ([^:.]+))/gm);
  return [...lines].flatMap(([, row, meanings, item = '', meaning = '']) => {
    const words = meanings?.split(', ') ?? [meaning];
    const found = [...(row ?? item).matchAll(/`(\w+)`/g)];
    return found.map(([, code = ''], index) => [code, sentence(words[index] ?? '')] as const);
  });
}

const enumerated = new Set(
  schemas.flatMap((schema) => [schema, ...Object.values(schema.properties ?? {})].flatMap((one) => one.enum ?? [])),
);

/** A text whose schema is not known, which can be a value of an enumeration. */
export function textInWords(text: string): string {
  return enumerated.has(text) ? valueInWords(text) : text;
}

const properties = new Set(schemas.flatMap((schema) => Object.keys(schema.properties ?? {})));

/** They are granted by their names. */
const roles = new Set(schemaOf('Role').enum);

/** A sentence of the contract or of a rejection, with words instead of names and values. */
export function sentenceInWords(text: string): string {
  const words = (name: string): string => {
    const shown = /^[A-Z\d_]+$/.test(name)
      ? valueInWords(name)
      : /^[A-Z]/.test(name)
        ? typeInWords(name)
        : fieldInWords(name);
    // Acronyms and codes stay.
    return shown.replaceAll(/\b[A-Z][a-z]+/g, (word) => word.toLowerCase());
  };
  const isName = (word: string) => properties.has(word) || word in contract.components.schemas;
  const named = text.replaceAll(/`(\w+)`|\b[A-Z]+_[A-Z]+\b/g, (all: string, name = all) =>
    roles.has(name) ? name : words(name),
  );
  // A single word can be one of people, too.
  return sentence(
    named.replaceAll(/\b\w+[a-z][A-Z]\w+\b/g, (word) => (isName(word) ? words(word) : word)).replaceAll('`', ''),
  );
}

export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const languages = new Intl.DisplayNames('en', { type: 'language' });

/** A value of an enumeration, such as `PARTIALLY_PAID`. People know countries and currencies by their codes. */
export function valueInWords(value: string): string {
  const known = values[value] ?? codes.get(value);
  if (known !== undefined) return known;
  if (/^[A-Z]{2}$/.test(value) || (/^[A-Z]{3}$/.test(value) && !enumerated.has(value))) return value;
  if (/^[a-z]{2}$/.test(value)) return languages.of(value) ?? value;
  return /^[A-Z\d_]+$|^(csv|pdf)$/.test(value) ? inWords(value.toLowerCase().replaceAll('_', ' ')) : value;
}

export function operatorInWords(operator: string): string {
  const found = Object.values(comparisons).find((known) => known.some((one) => one === operator));
  return operators[operator] ?? found?.[0] ?? operator;
}

export function transitionInWords(from: string, to: string): string {
  return transitions[`${from} ${to}`] ?? transitions[to] ?? `Change to ${valueInWords(to).toLowerCase()}`;
}

/** An item of a list, such as `Line 2` for the second one of `lines`. */
export function itemInWords(list: string, position: string): string {
  return `${fieldInWords(list).replace(/(?<=x)es$|s$/, '')} ${Number(position) + 1}`;
}

/** The start of a sentence about the field that a pointer leads to, such as `Line 2: unit amount: `; nothing if it begins with the field. */
export function fieldAt(pointer: string, detail: string): string {
  const [, list, position = '', part] = /\/(?!records\/)([a-z]\w*)\/(\d+)\/([a-z]\w*)$/.exec(pointer) ?? [];
  if (list !== undefined && part !== undefined)
    return `${itemInWords(list, position)}: ${fieldInWords(part).toLowerCase()}: `;
  const name = pointer.split('/').findLast((one) => /^[a-z]/.test(one));
  return name === undefined || detail.replace('`', '').startsWith(name) ? '' : `${fieldInWords(name)}: `;
}
