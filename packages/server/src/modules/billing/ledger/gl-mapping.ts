import { Rejection } from '../../../contract/rejection.ts';
import { defineEntity } from '../../../entity/entity.ts';

/** By a field that restricts an account to a part of its purpose, the purposes that have such parts. The database holds it, too. */
const parts = {
  kind: ['RECEIVABLE', 'CREDIT', 'SUSPENSE', 'WIP', 'WRITE_OFF', 'WIP_CHANGE'],
  paymentMethod: ['PAYMENT'],
  serviceLineId: ['REVENUE'],
  taxName: ['TAX'],
} as const;

/** An account of the general ledger for a purpose, or a part of it. */
export const glMapping = defineEntity('GlMapping', {
  table: 'gl_mapping',
  rules: {
    complete({ values }) {
      for (const field of ['kind', 'paymentMethod', 'serviceLineId', 'taxName'] as const) {
        const purposes: readonly string[] = parts[field];
        if (values[field] === null || purposes.includes(values.purpose)) continue;
        throw new Rejection(
          'VALIDATION_ERROR',
          `An account for ${values.purpose} has no ${field}, which is for ${purposes.join(', ')}. Send null.`,
          `/${field}`,
        );
      }
    },
    constraints: {
      gl_mapping_subject_unique: {
        code: 'DUPLICATE_REF',
        field: 'purpose',
        detail: 'The org already has an account for this. Change it, or delete it first.',
      },
    },
  },
});
