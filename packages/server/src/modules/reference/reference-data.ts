import { isTimeZone } from '../../admission/tenant-settings.ts';
import { defineEntity } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import { abbreviatedState, completeAddress } from './address.ts';
import { completeBankAccounts } from './bank-account.ts';
import { storeBookChange } from './book-change.ts';
import { completeTaxes } from './taxes.ts';
import { checkVatId } from './vat-id.ts';

/** Lists that classify clients and the firm. They have few rules: the database checks uniqueness and ranges. */

/** A legal entity of the firm. Its closed period ends on `booksClosedThrough`. */
export const org = defineEntity('Org', {
  table: 'org',
  rules: {
    complete({ entity, id, values, previous, input }, plan) {
      checkVatId(values.vatId, previous?.vatId);
      checkTimeZone(values, previous);
      values.bankAccounts = completeBankAccounts(values.bankAccounts, plan);
      const { booksClosedThrough: closed } = values;
      const { changeReason = null } = input;
      const before = previous?.booksClosedThrough ?? null;
      const isChanged = closed !== before;
      if (isChanged && closed !== null && closed >= plan.today)
        throw invalidField('booksClosedThrough', `booksClosedThrough must be before today, ${plan.today}.`);
      const isReopened = isChanged && before !== null && (closed === null || closed < before);
      if (isReopened && changeReason === null)
        throw invalidField(
          'changeReason',
          `changeReason is required to open a period that is closed through ${before}.`,
        );
      if (!isReopened && changeReason !== null)
        throw invalidField('changeReason', 'changeReason is the reason why a period is opened again. Omit it.');
      if (isReopened) storeBookChange(plan, { entity, id }, { changeReason });
    },
  },
});

export const office = defineEntity('Office', {
  table: 'office',
  spread: ['address'],
  rules: {
    complete({ values, previous }, plan) {
      checkTimeZone(values, previous);
      values.address = plan.at('/address', () => completeAddress(values.address, previous?.address));
    },
  },
});

interface InTimeZone {
  readonly timeZone: string;
}

function checkTimeZone({ timeZone }: InTimeZone, previous: InTimeZone | undefined): void {
  if (timeZone !== previous?.timeZone && !isTimeZone(timeZone))
    throw invalidField('timeZone', `No IANA time zone is called ${timeZone}. Send one such as America/Los_Angeles.`);
}

export const department = defineEntity('Department', { table: 'department' });

export const serviceLine = defineEntity('ServiceLine', { table: 'service_line' });

export const industry = defineEntity('Industry', { table: 'industry' });

export const clientType = defineEntity('ClientType', { table: 'client_type' });

export const clientBusinessEntity = defineEntity('ClientBusinessEntity', { table: 'client_business_entity' });

export const taxRegion = defineEntity('TaxRegion', {
  table: 'tax_region',
  rules: {
    complete({ values, previous }) {
      values.state = abbreviatedState(values, previous);
    },
  },
});

export const taxCode = defineEntity('TaxCode', {
  table: 'tax_code',
  rules: {
    complete({ values }) {
      values.taxes = completeTaxes(values.taxes, '/taxes');
    },
  },
});
