import type { Language } from '../../documents/index.ts';

/** Texts of mails for orgs without their own. */
export interface MailTexts {
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
  readonly replyTo: string | null;
}

/** Each paragraph is a line, so that one whose variables are empty is left out with it. */
function texts(subject: string, ...paragraphs: readonly string[]): MailTexts {
  return { subject, text: paragraphs.join('\n'), html: null, replyTo: null };
}

/** `INVOICE` is also for an imported invoice, which has no file to attach. */
export const standardTexts: Readonly<Record<string, Readonly<Record<Language, MailTexts>>>> = {
  INVOICE: {
    en: texts(
      '{{documentNumber}} from {{firmName}}',
      'Dear {{clientName}},\n',
      'here is our document:',
      '{{documents}}\n',
      '{{message}}\n',
      'You can pay on this page: {{paymentUrl}}\n',
      'Kind regards',
      '{{firmName}}',
    ),
    de: texts(
      '{{documentNumber}} von {{firmName}}',
      'Guten Tag {{clientName}},\n',
      'hier ist unser Beleg:',
      '{{documents}}\n',
      '{{message}}\n',
      'Auf dieser Seite können Sie bezahlen: {{paymentUrl}}\n',
      'Freundliche Grüße',
      '{{firmName}}',
    ),
    fr: texts(
      '{{documentNumber}} de {{firmName}}',
      'Bonjour {{clientName}},\n',
      'voici notre document :',
      '{{documents}}\n',
      '{{message}}\n',
      'Vous pouvez payer sur cette page : {{paymentUrl}}\n',
      'Cordialement',
      '{{firmName}}',
    ),
    es: texts(
      '{{documentNumber}} de {{firmName}}',
      'Estimado cliente, {{clientName}}:\n',
      'Este es nuestro documento:',
      '{{documents}}\n',
      '{{message}}\n',
      'Puede pagar en esta página: {{paymentUrl}}\n',
      'Atentamente',
      '{{firmName}}',
    ),
  },
  REMINDER: {
    en: texts(
      'Reminder: {{documentNumber}} of {{firmName}}',
      'Dear {{clientName}},\n',
      'the following amounts are overdue:',
      '{{documents}}\n',
      'In total: {{amountDue}}\n',
      'If you have paid in the meantime, please ignore this message.\n',
      'Kind regards',
      '{{firmName}}',
    ),
    de: texts(
      'Zahlungserinnerung: {{documentNumber}} von {{firmName}}',
      'Guten Tag {{clientName}},\n',
      'die folgenden Beträge sind überfällig:',
      '{{documents}}\n',
      'Insgesamt: {{amountDue}}\n',
      'Falls Sie inzwischen bezahlt haben, betrachten Sie diese Nachricht bitte als gegenstandslos.\n',
      'Freundliche Grüße',
      '{{firmName}}',
    ),
    fr: texts(
      'Rappel : {{documentNumber}} de {{firmName}}',
      'Bonjour {{clientName}},\n',
      'les montants suivants sont échus :',
      '{{documents}}\n',
      'Au total : {{amountDue}}\n',
      'Si vous avez payé entre-temps, veuillez ne pas tenir compte de ce message.\n',
      'Cordialement',
      '{{firmName}}',
    ),
    es: texts(
      'Recordatorio: {{documentNumber}} de {{firmName}}',
      'Estimado cliente, {{clientName}}:\n',
      'Los siguientes importes están vencidos:',
      '{{documents}}\n',
      'En total: {{amountDue}}\n',
      'Si ya ha pagado, ignore este mensaje.\n',
      'Atentamente',
      '{{firmName}}',
    ),
  },
};
