import { defineEntity } from '../../../entity/entity.ts';
import { invalidField } from '../../../entity/invalid-field.ts';
import { unknownVariable } from './fill-template.ts';

/** Texts of the mails of an org in a language. */
export const mailTemplate = defineEntity('MailTemplate', {
  table: 'mail_template',
  rules: {
    complete({ values }) {
      for (const field of ['subject', 'text', 'html'] as const) {
        const name = unknownVariable(values[field] ?? '');
        if (name !== undefined)
          throw invalidField(field, `The variable {{${name}}} does not exist. MailVariables lists all of them.`);
      }
    },
    constraints: {
      mail_template_name_unique: {
        code: 'DUPLICATE_REF',
        field: 'name',
        detail: 'Another active template of the org has this name and language.',
      },
    },
  },
});
