/** The types of the contract's examples, by their number in IDs. */
const types = {
  Org: '0a01',
  Office: '0a02',
  Department: '0a03',
  ServiceLine: '0a04',
  Industry: '0a05',
  ClientType: '0a06',
  ClientBusinessEntity: '0a07',
  TaxRegion: '0a08',
  ClientGroup: '0a09',
  Client: '0c01',
  Contact: '0c02',
  ContactInfo: '0c03',
  ContactClient: '0c04',
  Job: '0d01',
  JobTemplate: '0d02',
  StaffJobAssignment: '0d03',
  Task: '0d05',
  TaskType: '0d06',
  Engagement: '0d07',
  EngagementBatch: '0d09',
  LetterTemplate: '0d0a',
  Staff: '0e01',
  StaffType: '0e02',
  TimeEntry: '0f01',
  ExpenseEntry: '0f02',
  WorkCode: '0f03',
  ExpenseCode: '0f04',
  NonWorkCode: '0f05',
  WipEntry: '0f06',
  DraftInvoice: '1a01',
  Invoice: '1a04',
  Payment: '1a05',
  QuickPaymentLink: '1a06',
  Mail: '1a09',
  LedgerEntry: '1a08',
  File: '1b01',
  EventSubscription: '1b02',
  DeliveryAttempt: '1b03',
  Event: '1b04',
  CustomRecordType: '1c01',
  RecordBatch: '1c05',
} as const;

export type StoryType = keyof typeof types;

/** Returns the ID of a row in the examples of the contract, which openapi/examples/README.md lists. */
export function storyId(type: StoryType, number: number): string {
  return `0199a1c2-${types[type]}-7c01-8a4f-5d2e9b60f1${String(number).padStart(2, '0')}`;
}
