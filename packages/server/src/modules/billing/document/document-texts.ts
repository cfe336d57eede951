import type { Row } from '../../../entity/row.ts';
import type { Language } from '../../documents/index.ts';

type Category = NonNullable<Row<'Invoice'>['lines'][number]['taxes'][number]['category']>;
type Unit = Row<'Invoice'>['lines'][number]['unitCode'];

/** What the documents of invoices say in one language. */
export interface DocumentTexts {
  readonly title: Readonly<Record<Row<'Invoice'>['documentType'], string>>;
  /** The title of an invoice with tax, in countries that require another one. */
  readonly taxInvoice: string;
  /** The number and the day of each kind of document. */
  readonly number: Readonly<Record<Row<'Invoice'>['documentType'], string>>;
  readonly date: Readonly<Record<Row<'Invoice'>['documentType'], string>>;
  readonly due: string;
  readonly dueBy: string;
  readonly servicePeriod: string;
  readonly credited: string;
  readonly purchaseOrder: string;
  readonly orderReference: string;
  readonly buyerReference: string;
  readonly clientNumber: string;
  readonly currency: string;
  readonly voided: string;
  readonly void: string;
  readonly billTo: string;
  readonly vatId: string;
  readonly description: string;
  readonly quantity: string;
  readonly rate: string;
  readonly rateWithTax: string;
  readonly tax: string;
  readonly taxes: string;
  readonly base: string;
  readonly taxRate: string;
  readonly amount: string;
  /** In place of the amount, beside prices that include tax. */
  readonly netAmount: string;
  readonly subtotal: string;
  readonly discounts: string;
  readonly interest: string;
  readonly total: string;
  readonly amountDue: string;
  readonly amountCredited: string;
  readonly memo: string;
  readonly earlyPayment: string;
  /** With the percentage, the last day and what is to be paid then in place of the names in braces. */
  readonly earlyPaymentTerms: string;
  /** Of a line, with the number of the overdue invoice in place of the name in braces. */
  readonly lateFee: string;
  /** Of a line that bills the work of a job, by its type, with the job and the last day in place of the names in braces. */
  readonly work: Readonly<Record<Row<'WipEntry'>['wipType'], string>>;
  readonly bankDetails: string;
  readonly accountNumber: string;
  readonly accountHolder: string;
  /** Why no tax is charged, by the category of a tax. The reason of an exemption (E) is the document's own. */
  readonly reasons: Readonly<Partial<Record<Category, string>>>;
  /** Units after a quantity; none for pieces of one. */
  readonly units: Readonly<Partial<Record<Unit, string>>>;
}

/** The words of a document, and how it writes numbers and days. */
export interface DocumentStyle {
  readonly texts: DocumentTexts;
  readonly locale: string;
}

/** Units that are the same in all languages. */
const symbols = { HUR: 'h', MIN: 'min', KMT: 'km', P1: '%', KGM: 'kg', LTR: 'l', MTR: 'm', MTK: 'm²', KWH: 'kWh' };

const en: DocumentTexts = {
  title: { INVOICE: 'Invoice', CREDIT_NOTE: 'Credit note' },
  taxInvoice: 'Tax invoice',
  number: { INVOICE: 'Invoice number', CREDIT_NOTE: 'Credit note number' },
  date: { INVOICE: 'Invoice date', CREDIT_NOTE: 'Credit note date' },
  due: 'Due date',
  dueBy: 'Due by',
  servicePeriod: 'Service period',
  credited: 'Credited invoice',
  purchaseOrder: 'Purchase order',
  orderReference: 'Our order',
  buyerReference: 'Your reference',
  clientNumber: 'Client number',
  currency: 'Currency',
  voided: 'Voided',
  void: 'VOID',
  billTo: 'Bill to',
  vatId: 'VAT ID',
  description: 'Description',
  quantity: 'Quantity',
  rate: 'Rate',
  rateWithTax: 'Rate with tax',
  tax: 'Tax',
  taxes: 'Taxes',
  base: 'Base',
  taxRate: 'Tax rate',
  amount: 'Amount',
  netAmount: 'Net amount',
  subtotal: 'Subtotal',
  discounts: 'Discounts',
  interest: 'Interest',
  total: 'Total',
  amountDue: 'Amount due',
  amountCredited: 'Amount credited',
  memo: 'Memo',
  earlyPayment: 'Discount for early payment',
  earlyPaymentTerms: '{percent} discount if paid by {day}: pay {amount}',
  lateFee: 'Late fee: {number}',
  work: {
    TIME: '{job}: time through {day}',
    EXPENSE: '{job}: expenses through {day}',
    FIXED_FEE: '{job}: fee through {day}',
    PROGRESS: '{job}: progress bills through {day}',
    ADJUSTMENT: '{job}: adjustments through {day}',
  },
  bankDetails: 'Bank details',
  accountNumber: 'Account',
  accountHolder: 'Account holder:',
  reasons: {
    AE: 'Reverse charge: the recipient is liable for the tax',
    K: 'Intra-Community supply, exempt from tax',
    G: 'Export, exempt from tax',
    O: 'Not subject to tax',
    Z: 'Zero rate',
  },
  units: {
    ...symbols,
    DAY: 'days',
    WEE: 'weeks',
    MON: 'months',
    QAN: 'quarters',
    ANN: 'years',
    LS: 'lump sum',
    H87: 'pieces',
    E48: 'services',
    SMI: 'mi',
    ZP: 'pages',
  },
};

const de: DocumentTexts = {
  title: { INVOICE: 'Rechnung', CREDIT_NOTE: 'Rechnungskorrektur' },
  taxInvoice: 'Steuerrechnung',
  number: { INVOICE: 'Rechnungsnummer', CREDIT_NOTE: 'Belegnummer' },
  date: { INVOICE: 'Rechnungsdatum', CREDIT_NOTE: 'Belegdatum' },
  due: 'Fällig am',
  dueBy: 'Zahlbar bis',
  servicePeriod: 'Leistungszeitraum',
  credited: 'Zu Rechnung',
  purchaseOrder: 'Ihre Bestellnummer',
  orderReference: 'Unsere Auftragsnummer',
  buyerReference: 'Ihr Zeichen',
  clientNumber: 'Kundennummer',
  currency: 'Währung',
  voided: 'Storniert am',
  void: 'STORNIERT',
  billTo: 'Rechnung an',
  vatId: 'USt-IdNr.',
  description: 'Beschreibung',
  quantity: 'Menge',
  rate: 'Preis',
  rateWithTax: 'Preis mit Steuer',
  tax: 'Steuer',
  taxes: 'Steuern',
  base: 'Nettobetrag',
  taxRate: 'Steuersatz',
  amount: 'Betrag',
  netAmount: 'Nettobetrag',
  subtotal: 'Zwischensumme',
  discounts: 'Rabatte',
  interest: 'Zinsen',
  total: 'Gesamtbetrag',
  amountDue: 'Zu zahlen',
  amountCredited: 'Gutgeschriebener Betrag',
  memo: 'Hinweis',
  earlyPayment: 'Skonto',
  earlyPaymentTerms: '{percent} Skonto bei Zahlung bis {day}: {amount} zu zahlen',
  lateFee: 'Verspätungszuschlag: {number}',
  work: {
    TIME: '{job}: Arbeitszeit bis {day}',
    EXPENSE: '{job}: Auslagen bis {day}',
    FIXED_FEE: '{job}: Honorar bis {day}',
    PROGRESS: '{job}: Abschlagsrechnungen bis {day}',
    ADJUSTMENT: '{job}: Korrekturen bis {day}',
  },
  bankDetails: 'Bankverbindung',
  accountNumber: 'Konto',
  accountHolder: 'Kontoinhaber:',
  reasons: {
    AE: 'Steuerschuldnerschaft des Leistungsempfängers',
    K: 'Steuerfreie innergemeinschaftliche Lieferung',
    G: 'Steuerfreie Ausfuhrlieferung',
    O: 'Nicht steuerbar',
    Z: 'Nullsatz',
  },
  units: {
    ...symbols,
    DAY: 'Tage',
    WEE: 'Wochen',
    MON: 'Monate',
    QAN: 'Quartale',
    ANN: 'Jahre',
    LS: 'pauschal',
    H87: 'Stück',
    E48: 'Leistungen',
    SMI: 'Meilen',
    ZP: 'Seiten',
  },
};

const fr: DocumentTexts = {
  title: { INVOICE: 'Facture', CREDIT_NOTE: 'Avoir' },
  taxInvoice: 'Facture fiscale',
  number: { INVOICE: 'Numéro de facture', CREDIT_NOTE: 'Numéro d’avoir' },
  date: { INVOICE: 'Date de facture', CREDIT_NOTE: 'Date d’avoir' },
  due: 'Échéance',
  dueBy: 'À payer au plus tard le',
  servicePeriod: 'Période de prestation',
  credited: 'Facture concernée',
  purchaseOrder: 'Votre commande',
  orderReference: 'Notre commande',
  buyerReference: 'Votre référence',
  clientNumber: 'Numéro de client',
  currency: 'Devise',
  voided: 'Annulée le',
  void: 'ANNULÉE',
  billTo: 'Facturé à',
  vatId: 'N° TVA',
  description: 'Désignation',
  quantity: 'Quantité',
  rate: 'Prix',
  rateWithTax: 'Prix TTC',
  tax: 'Taxe',
  taxes: 'Taxes',
  base: 'Base HT',
  taxRate: 'Taux',
  amount: 'Montant',
  netAmount: 'Montant HT',
  subtotal: 'Sous-total',
  discounts: 'Remises',
  interest: 'Intérêts',
  total: 'Total',
  amountDue: 'Net à payer',
  amountCredited: 'Montant crédité',
  memo: 'Remarque',
  earlyPayment: 'Escompte pour paiement anticipé',
  earlyPaymentTerms: 'Escompte de {percent} pour un paiement jusqu’au {day} : {amount} à payer',
  lateFee: 'Frais de retard : {number}',
  work: {
    TIME: "{job} : temps jusqu'au {day}",
    EXPENSE: "{job} : frais jusqu'au {day}",
    FIXED_FEE: "{job} : honoraires jusqu'au {day}",
    PROGRESS: "{job} : acomptes facturés jusqu'au {day}",
    ADJUSTMENT: "{job} : ajustements jusqu'au {day}",
  },
  bankDetails: 'Coordonnées bancaires',
  accountNumber: 'Compte',
  accountHolder: 'Titulaire du compte :',
  reasons: {
    AE: 'Autoliquidation : taxe due par le preneur',
    K: 'Livraison intracommunautaire exonérée de taxe',
    G: 'Exportation exonérée de taxe',
    O: 'Hors du champ d’application de la taxe',
    Z: 'Taux zéro',
  },
  units: {
    ...symbols,
    DAY: 'jours',
    WEE: 'semaines',
    MON: 'mois',
    QAN: 'trimestres',
    ANN: 'ans',
    LS: 'forfait',
    H87: 'pièces',
    E48: 'prestations',
    SMI: 'milles',
    ZP: 'pages',
  },
};

const es: DocumentTexts = {
  title: { INVOICE: 'Factura', CREDIT_NOTE: 'Factura rectificativa' },
  taxInvoice: 'Factura fiscal',
  number: { INVOICE: 'Número de factura', CREDIT_NOTE: 'Número de factura' },
  date: { INVOICE: 'Fecha de factura', CREDIT_NOTE: 'Fecha de factura' },
  due: 'Vencimiento',
  dueBy: 'Pagar hasta el',
  servicePeriod: 'Periodo de servicio',
  credited: 'Factura rectificada',
  purchaseOrder: 'Su pedido',
  orderReference: 'Nuestro pedido',
  buyerReference: 'Su referencia',
  clientNumber: 'Número de cliente',
  currency: 'Moneda',
  voided: 'Anulada el',
  void: 'ANULADA',
  billTo: 'Facturar a',
  vatId: 'NIF-IVA',
  description: 'Concepto',
  quantity: 'Cantidad',
  rate: 'Precio',
  rateWithTax: 'Precio con impuestos',
  tax: 'Impuesto',
  taxes: 'Impuestos',
  base: 'Base imponible',
  taxRate: 'Tipo',
  amount: 'Importe',
  netAmount: 'Importe sin impuestos',
  subtotal: 'Subtotal',
  discounts: 'Descuentos',
  interest: 'Intereses',
  total: 'Total',
  amountDue: 'Importe a pagar',
  amountCredited: 'Importe abonado',
  memo: 'Nota',
  earlyPayment: 'Descuento por pronto pago',
  earlyPaymentTerms: '{percent} de descuento por pago hasta el {day}: {amount} a pagar',
  lateFee: 'Recargo por demora: {number}',
  work: {
    TIME: '{job}: horas hasta el {day}',
    EXPENSE: '{job}: gastos hasta el {day}',
    FIXED_FEE: '{job}: honorarios hasta el {day}',
    PROGRESS: '{job}: facturas parciales hasta el {day}',
    ADJUSTMENT: '{job}: ajustes hasta el {day}',
  },
  bankDetails: 'Datos bancarios',
  accountNumber: 'Cuenta',
  accountHolder: 'Titular de la cuenta:',
  reasons: {
    AE: 'Inversión del sujeto pasivo',
    K: 'Entrega intracomunitaria exenta de impuestos',
    G: 'Exportación exenta de impuestos',
    O: 'No sujeto a impuestos',
    Z: 'Tipo cero',
  },
  units: {
    ...symbols,
    DAY: 'días',
    WEE: 'semanas',
    MON: 'meses',
    QAN: 'trimestres',
    ANN: 'años',
    LS: 'tanto alzado',
    H87: 'unidades',
    E48: 'servicios',
    SMI: 'millas',
    ZP: 'páginas',
  },
};

export const documentTexts: Readonly<Record<Language, DocumentTexts>> = { en, de, fr, es };
