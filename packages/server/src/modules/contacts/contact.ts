import { embedCount, embedMany, embedValue } from '../../entity/embed.ts';
import { defineEntity, many } from '../../entity/entity.ts';
import { invalidField } from '../../entity/invalid-field.ts';

/** A contact person of the firm's clients. */
export const contact = defineEntity('Contact', {
  table: 'contact',
  embeds: {
    clients: embedMany('ContactClient', 'contactId', {
      onChange: 'version',
      embeds: { clientRef: embedValue('Client', 'clientId', 'clientRef', { onChange: 'version' }) },
    }),
    clientsCount: embedCount('ContactClient', 'contactId', { onChange: 'version' }),
  },
  relations: { contactClients: many('ContactClient', 'contactId') },
  rules: {
    complete({ values, input, previous }, plan) {
      if (values.email !== null) values.email = values.email.toLowerCase();
      if (previous === undefined && values.lastName === null && values.displayName === undefined)
        throw invalidField('lastName', 'A contact requires a lastName or a displayName.');
      // A composed name changes with its parts; a provided one remains.
      const composed = previous === undefined ? undefined : composedName(previous);
      if (input.displayName === undefined && (previous === undefined || previous.displayName === composed))
        values.displayName = composedName(values) || values.displayName;
      values.pmsRef ??= plan.nextReference(contactNumber);
    },
  },
});

const contactNumber = {
  counter: 'contact.pms_ref',
  entity: contact,
  fields: ['pmsRef'],
  format: (number: number) => `P-${String(number).padStart(5, '0')}`,
};

interface NameParts {
  readonly firstName: string | null;
  readonly middleName: string | null;
  readonly lastName: string | null;
}

function composedName({ firstName, middleName, lastName }: NameParts): string {
  return [firstName, middleName, lastName].filter((part) => part !== null).join(' ');
}
