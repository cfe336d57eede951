import type { components } from '@financial-automation/spec';
import type { Language } from '../../documents/index.ts';

type Statement = components['schemas']['ClientStatementPage'];

/** What a statement of account says in one language. */
export interface StatementTexts {
  readonly title: string;
  /** With the first and the last day and the currency in place of `{period}` and `{currency}`. */
  readonly period: string;
  readonly date: string;
  readonly movement: string;
  readonly document: string;
  readonly amount: string;
  readonly balance: string;
  readonly opening: string;
  readonly closing: string;
  readonly kinds: Readonly<Record<Exclude<Statement['data'][number]['kind'], WorkKind>, string>>;
  readonly ages: Readonly<Record<keyof Statement['ageing'], string>>;
}

/** Kinds of entries of work in progress, which are on no statement. */
type WorkKind = 'WORK' | 'WORK_REVERSED' | 'WRITE_UP' | 'WRITE_DOWN' | 'BILLED' | 'UNBILLED';

const en: StatementTexts = {
  title: 'Statement of account',
  period: '{period}, all amounts in {currency}',
  date: 'Date',
  movement: 'Movement',
  document: 'Document',
  amount: 'Amount',
  balance: 'Balance',
  opening: 'Opening balance',
  closing: 'Closing balance',
  kinds: {
    INVOICE: 'Invoice',
    ALLOCATION: 'Payment applied',
    DEALLOCATION: 'Payment unapplied',
    WRITE_OFF: 'Written off',
    RECOVERY: 'Write-off reversed',
    VOID: 'Voided',
    PAYMENT: 'Payment',
    CREDIT_NOTE: 'Credit note',
    REFUND: 'Refund',
    RETURN: 'Returned payment',
    PAYMENT_VOID: 'Payment voided',
    IDENTIFICATION: 'Payment identified',
    NOTE_VOID: 'Credit note voided',
  },
  ages: {
    notDue: 'Not due',
    days1To30: '1 to 30 days overdue',
    days31To60: '31 to 60 days overdue',
    days61To90: '61 to 90 days overdue',
    daysOver90: 'More than 90 days overdue',
    unappliedCredit: 'Credit',
  },
};

const de: StatementTexts = {
  title: 'Kontoauszug',
  period: '{period}, alle Beträge in {currency}',
  date: 'Datum',
  movement: 'Vorgang',
  document: 'Beleg',
  amount: 'Betrag',
  balance: 'Saldo',
  opening: 'Anfangssaldo',
  closing: 'Endsaldo',
  kinds: {
    INVOICE: 'Rechnung',
    ALLOCATION: 'Zahlung zugeordnet',
    DEALLOCATION: 'Zuordnung aufgehoben',
    WRITE_OFF: 'Ausgebucht',
    RECOVERY: 'Ausbuchung aufgehoben',
    VOID: 'Storniert',
    PAYMENT: 'Zahlung',
    CREDIT_NOTE: 'Rechnungskorrektur',
    REFUND: 'Erstattung',
    RETURN: 'Zurückgegebene Zahlung',
    PAYMENT_VOID: 'Zahlung storniert',
    IDENTIFICATION: 'Zahlung zugeordnet',
    NOTE_VOID: 'Korrektur storniert',
  },
  ages: {
    notDue: 'Nicht fällig',
    days1To30: '1 bis 30 Tage überfällig',
    days31To60: '31 bis 60 Tage überfällig',
    days61To90: '61 bis 90 Tage überfällig',
    daysOver90: 'Mehr als 90 Tage überfällig',
    unappliedCredit: 'Guthaben',
  },
};

const fr: StatementTexts = {
  title: 'Relevé de compte',
  period: '{period}, montants en {currency}',
  date: 'Date',
  movement: 'Opération',
  document: 'Pièce',
  amount: 'Montant',
  balance: 'Solde',
  opening: 'Solde initial',
  closing: 'Solde final',
  kinds: {
    INVOICE: 'Facture',
    ALLOCATION: 'Paiement imputé',
    DEALLOCATION: 'Imputation annulée',
    WRITE_OFF: 'Passé en perte',
    RECOVERY: 'Passage en perte annulé',
    VOID: 'Annulée',
    PAYMENT: 'Paiement',
    CREDIT_NOTE: 'Avoir',
    REFUND: 'Remboursement',
    RETURN: 'Paiement rejeté',
    PAYMENT_VOID: 'Paiement annulé',
    IDENTIFICATION: 'Paiement identifié',
    NOTE_VOID: 'Avoir annulé',
  },
  ages: {
    notDue: 'Non échu',
    days1To30: 'Échu depuis 1 à 30 jours',
    days31To60: 'Échu depuis 31 à 60 jours',
    days61To90: 'Échu depuis 61 à 90 jours',
    daysOver90: 'Échu depuis plus de 90 jours',
    unappliedCredit: 'Avoir disponible',
  },
};

const es: StatementTexts = {
  title: 'Estado de cuenta',
  period: '{period}, importes en {currency}',
  date: 'Fecha',
  movement: 'Movimiento',
  document: 'Documento',
  amount: 'Importe',
  balance: 'Saldo',
  opening: 'Saldo inicial',
  closing: 'Saldo final',
  kinds: {
    INVOICE: 'Factura',
    ALLOCATION: 'Pago aplicado',
    DEALLOCATION: 'Aplicación anulada',
    WRITE_OFF: 'Dado de baja',
    RECOVERY: 'Baja anulada',
    VOID: 'Anulada',
    PAYMENT: 'Pago',
    CREDIT_NOTE: 'Factura rectificativa',
    REFUND: 'Reembolso',
    RETURN: 'Pago devuelto',
    PAYMENT_VOID: 'Pago anulado',
    IDENTIFICATION: 'Pago identificado',
    NOTE_VOID: 'Rectificativa anulada',
  },
  ages: {
    notDue: 'No vencido',
    days1To30: 'De 1 a 30 días vencido',
    days31To60: 'De 31 a 60 días vencido',
    days61To90: 'De 61 a 90 días vencido',
    daysOver90: 'Más de 90 días vencido',
    unappliedCredit: 'Crédito',
  },
};

export const statementTexts: Readonly<Record<Language, StatementTexts>> = { en, de, fr, es };
