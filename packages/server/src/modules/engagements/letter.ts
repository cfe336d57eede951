import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import type { Session } from '../../platform/store/store.ts';
import { addressLines, fileNamePart, type Language, type StoredAddress, storedAddress } from '../documents/index.ts';
import { documentTypes } from './documents.ts';

type Schemas = components['schemas'];
type Engagement = Schemas['Engagement'];

/** The content of a letter, from stored data. */
export interface Letter {
  readonly engagementId: string;
  readonly clientId: string;
  readonly fileName: string;
  readonly folderPath: string;
  /** Whether this is the signed copy. */
  readonly isSigned: boolean;
  readonly createdAt: string;
  /** The day of the letter, in the tenant's time zone. */
  readonly date: string;
  /** Name of the tenant's time zone (IANA). */
  readonly timeZone: string;
  readonly language: Language;
  /** Country by which numbers and days are written. */
  readonly country: string;
  readonly firmCountry: string;
  readonly engagementRef: string;
  readonly name: string;
  readonly type: Engagement['type'];
  readonly fiscalYear: number;
  readonly startDate: string | null;
  readonly endDate: string | null;
  readonly feeAmount: string | null;
  readonly feeType: Engagement['feeType'];
  readonly depositAmount: string | null;
  readonly currency: string;
  readonly firmName: string;
  readonly clientName: string;
  readonly addressLines: readonly string[];
  readonly partner: string | null;
  readonly manager: string | null;
  readonly staff: readonly { readonly name: string; readonly role: Schemas['StaffAssignmentRole'] }[];
  readonly signers: readonly { readonly name: string; readonly signedAt: string | null }[];
}

type StoredLetter = Omit<Letter, 'folderPath' | 'addressLines' | 'country'> & {
  readonly address: StoredAddress | null;
};

/**
 * Reads the current content of a document; undefined if there is nothing to write, because it has a file or was
 * superseded.
 */
export async function readLetter(session: Session, tenantId: number, documentId: string): Promise<Letter | undefined> {
  const row = await session.first<StoredLetter>(sql`
    select d.engagement_id as "engagementId", e.client_id as "clientId", d.file_name as "fileName",
      d.document_type_id = ${documentTypes.signedCopy.id} as "isSigned", d.created_at as "createdAt",
      tenant_day(d.created_at) as date, c.document_language as language, current_setting('app.time_zone') as "timeZone",
      e.engagement_ref as "engagementRef", e.name, e.type, e.fiscal_year as "fiscalYear", e.start_date as "startDate",
      e.end_date as "endDate", e.fee_amount::text as "feeAmount", e.fee_type as "feeType",
      e.deposit_amount::text as "depositAmount", e.currency, o.legal_name as "firmName", o.country as "firmCountry",
      coalesce(c.legal_name, c.name) as "clientName",
      (select ${storedAddress('i')} from contact_info i where i.tenant_id = c.tenant_id and i.id = c.client_contact_info_id) as address,
      p.display_name as partner, m.display_name as manager,
      (select coalesce(json_agg(json_build_object('name', s.display_name, 'role', es.role) order by es.position), '[]')
        from engagement_staff es join staff s on s.tenant_id = es.tenant_id and s.id = es.staff_id
        where es.tenant_id = e.tenant_id and es.engagement_id = e.id) as staff,
      (select coalesce(json_agg(json_build_object('name', k.display_name, 'signedAt',
          to_char(es.signed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) order by es.position), '[]')
        from engagement_signer es join contact k on k.tenant_id = es.tenant_id and k.id = es.contact_id
        where es.tenant_id = e.tenant_id and es.engagement_id = e.id) as signers
    from engagement_document d
    join engagement e on e.tenant_id = d.tenant_id and e.id = d.engagement_id
    join client c on c.tenant_id = e.tenant_id and c.id = e.client_id
    join org o on o.tenant_id = c.tenant_id and o.id = c.org_id
    left join staff p on p.tenant_id = e.tenant_id and p.id = e.partner_id
    left join staff m on m.tenant_id = e.tenant_id and m.id = e.manager_id
    where d.tenant_id = ${tenantId} and d.id = ${documentId} and d.file_id is null and d.status <> 'SUPERSEDED'`);
  if (row === undefined) return undefined;
  const { address, ...letter } = row;
  const folderPath = `/${fileNamePart(letter.clientName)}/Engagements`;
  const { firmCountry, language } = letter;
  const isDomestic = address?.country === firmCountry;
  const lines = addressLines(address, language, isDomestic);
  return { ...letter, country: address?.country ?? firmCountry, addressLines: lines, folderPath };
}
