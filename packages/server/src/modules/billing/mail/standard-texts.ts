import { type Language, textsOf } from '../../documents/index.ts';

/** Texts of mails for orgs without their own. */
export interface MailTexts {
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
  readonly replyTo: string | null;
}

const mails = textsOf('mail');

/** A line whose variables are empty is left out. `INVOICE` is also for an imported invoice, which has no file to attach. */
export function standardTexts(template: string, language: Language): MailTexts {
  const { INVOICE, REMINDER } = mails[language];
  const { subject, lines } = template === 'INVOICE' ? INVOICE : REMINDER;
  return { subject, text: lines.join('\n'), html: null, replyTo: null };
}

/** Whether the service has texts for mails of this kind. */
export function hasStandardTexts(template: string): boolean {
  return Object.hasOwn(mails.en, template);
}
