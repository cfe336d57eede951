import { Rejection } from '../../../contract/rejection.ts';
import { defineEntity } from '../../../entity/entity.ts';

/** An account of the general ledger for a purpose, or a part of it. */
export const glMapping = defineEntity('GlMapping', {
  table: 'gl_mapping',
  rules: {
    // The database holds it, too.
    complete({ entity, values }) {
      const given = new Map<string, unknown>(Object.entries(values));
      for (const [field, { schema }] of entity.fields) {
        const { purpose: purposes = [] } = schema['x-only-for'] ?? {};
        if (purposes.length === 0 || given.get(field) === null || purposes.includes(values.purpose)) continue;
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
