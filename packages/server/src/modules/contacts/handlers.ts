import { byId, pageOf } from '../../query/handlers.ts';
import { contact } from './contact.ts';
import { listContactsByClient } from './listContactsByClient.ts';
import { upsertContacts } from './upsertContacts.ts';

export const contacts = {
  listContacts: pageOf(contact),
  searchContacts: pageOf(contact),
  getContact: byId(contact),
  listContactsByClient,
  upsertContacts,
};
