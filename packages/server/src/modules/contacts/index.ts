import { byId, pageOf, searchOf } from '../../query/handlers.ts';
import { contact } from './contact.ts';
import { contactClient } from './contact-client.ts';
import { contactInfo } from './contact-info.ts';
import { getPersonalData } from './getPersonalData.ts';
import { listContactsByClient } from './listContactsByClient.ts';
import { onboardClient } from './onboardClient.ts';
import { upsertContacts } from './upsertContacts.ts';

export const contacts = {
  onboardClient,
  listContactClients: pageOf(contactClient),
  listContactInfos: pageOf(contactInfo),
  searchContactInfos: searchOf(contactInfo),
  getContactInfo: byId(contactInfo),
  listContacts: pageOf(contact),
  searchContacts: searchOf(contact),
  getContact: byId(contact),
  getPersonalData,
  listContactsByClient,
  upsertContacts,
};
export { contact } from './contact.ts';
export { contactClient } from './contact-client.ts';
export { contactInfo } from './contact-info.ts';
export { mergeContacts } from './merge-contacts.ts';
export {
  customRecords,
  erasedEmail,
  keyValues,
  Person,
  replacements,
  type SearchedTable,
  searchedTables,
} from './personal-data.ts';
