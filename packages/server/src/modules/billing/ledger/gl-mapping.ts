import { defineEntity } from '../../../entity/entity.ts';

/** An account of the general ledger for a purpose, or a part of it. */
export const glMapping = defineEntity('GlMapping', {
  table: 'gl_mapping',
  rules: {
    constraints: {
      gl_mapping_subject_unique: {
        code: 'DUPLICATE_REF',
        field: 'purpose',
        detail: 'The org already has an account for this. Change it, or delete it first.',
      },
    },
  },
});
