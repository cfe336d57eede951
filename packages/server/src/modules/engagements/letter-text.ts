import type { Language } from '../documents/index.ts';
import type { Letter } from './letter.ts';

/** A heading and what follows it. */
type Section = readonly [heading: string, text: string];

/**
 * What the standard letter of the service says in one language. Firms with their own text send their own letter, and only
 * record its signatures here.
 */
export interface LetterTexts {
  readonly title: string;
  readonly signedTitle: string;
  readonly facts: Readonly<
    Record<'reference' | 'engagement' | 'fiscalYear' | 'from' | 'until' | 'fee' | 'deposit', string>
  >;
  readonly roles: Readonly<Record<Letter['staff'][number]['role'], string>>;
  readonly feeTypes: Readonly<Record<NonNullable<Letter['feeType']>, string>>;
  /** With the time in place of `{time}`. */
  readonly signedOn: string;
  readonly scopes: Readonly<Record<Letter['type'], string>>;
  readonly fees: Readonly<Record<NonNullable<Letter['feeType']> | 'NONE', string>>;
  readonly scopeHeading: string;
  readonly feeHeading: string;
  readonly responsibilities: Section;
  readonly confidentiality: Section;
  readonly term: Section;
  readonly agreement: Section;
}

const en: LetterTexts = {
  title: 'Engagement letter',
  signedTitle: 'Engagement letter – signed copy',
  facts: {
    reference: 'Reference',
    engagement: 'Engagement',
    fiscalYear: 'Fiscal year',
    from: 'From',
    until: 'Until',
    fee: 'Fee',
    deposit: 'Deposit',
  },
  roles: {
    PARTNER: 'Partner',
    MANAGER: 'Manager',
    IN_CHARGE: 'In charge',
    PREPARER: 'Preparer',
    REVIEWER: 'Reviewer',
    OTHER: 'Staff',
  },
  feeTypes: {
    TIME_AND_MATERIALS: 'time and materials',
    FIXED_FEE: 'fixed fee',
    RECURRING: 'recurring fee',
    NON_BILLABLE: 'no fee',
  },
  signedOn: 'Signed on {time}',
  scopeHeading: 'Scope of our services',
  scopes: {
    AUDIT:
      'We will audit your financial statements for the fiscal year named above, in accordance with generally accepted auditing standards. An audit is designed to obtain reasonable, but not absolute, assurance that the statements are free of material misstatement.',
    REVIEW:
      'We will review your financial statements for the fiscal year named above. A review consists primarily of inquiries and analytical procedures. It is substantially less in scope than an audit, and we will not express an opinion.',
    COMPILATION:
      'We will compile your financial statements for the fiscal year named above from the information that you provide. We will not audit or review the statements, and will not express an opinion or any form of assurance on them.',
    TAX: 'We will prepare your income tax returns for the fiscal year named above from the information that you provide. We will not audit or otherwise verify that information, although we may ask you to clarify some of it.',
    CAS: 'We will provide client accounting services for the fiscal year named above: bookkeeping, reconciliations and the reports that we agree on with you. We will not audit or review the resulting reports.',
    ADVISORY:
      'We will advise you on the matters that we agree on with you during the fiscal year named above. Our advice is based on the information that you provide and on the law as it is when we give it.',
    OTHER:
      'We will provide the services that we agree on with you during the fiscal year named above, from the information that you provide.',
  },
  responsibilities: [
    'Your responsibilities',
    'You are responsible for the completeness and accuracy of the information that you give us, for keeping the records that support it, and for reviewing what we prepare before you use, sign or file it.',
  ],
  feeHeading: 'Fees',
  fees: {
    TIME_AND_MATERIALS:
      'Our fees are based on the time that the work requires, at our standard rates, plus expenses. An amount stated above is an estimate; we will tell you before we exceed it.',
    FIXED_FEE:
      'Our fee is the fixed amount stated above. Work beyond the scope of this letter is agreed and billed separately.',
    RECURRING:
      'Our fee is the amount stated above for each period. Work beyond the scope of this letter is billed separately.',
    NON_BILLABLE: 'We do not charge a fee for this engagement.',
    NONE: 'Our fees are based on the time that the work requires, at our standard rates, plus expenses.',
  },
  confidentiality: [
    'Confidentiality',
    'We keep your information confidential, and disclose it only as you allow or as the law and professional standards require.',
  ],
  term: [
    'Term',
    'This engagement begins when everybody named below has signed, and ends when the services are complete. Either party may end it earlier by written notice. Fees for work done until then remain due.',
  ],
  agreement: [
    'Agreement',
    'Changes to the terms of this letter are agreed in writing. If the letter describes our arrangement as you understand it, please sign below.',
  ],
};

const de: LetterTexts = {
  title: 'Auftragsschreiben',
  signedTitle: 'Auftragsschreiben – unterzeichnete Ausfertigung',
  facts: {
    reference: 'Aktenzeichen',
    engagement: 'Auftrag',
    fiscalYear: 'Geschäftsjahr',
    from: 'Von',
    until: 'Bis',
    fee: 'Honorar',
    deposit: 'Vorschuss',
  },
  roles: {
    PARTNER: 'Partner',
    MANAGER: 'Mandatsleitung',
    IN_CHARGE: 'Verantwortlich',
    PREPARER: 'Bearbeitung',
    REVIEWER: 'Prüfung',
    OTHER: 'Mitarbeit',
  },
  feeTypes: {
    TIME_AND_MATERIALS: 'nach Zeitaufwand',
    FIXED_FEE: 'Festhonorar',
    RECURRING: 'wiederkehrendes Honorar',
    NON_BILLABLE: 'unentgeltlich',
  },
  signedOn: 'Unterzeichnet am {time}',
  scopeHeading: 'Umfang unserer Leistungen',
  scopes: {
    AUDIT:
      'Wir prüfen Ihren Abschluss für das oben genannte Geschäftsjahr nach den anerkannten Grundsätzen ordnungsmäßiger Abschlussprüfung. Eine Prüfung soll hinreichende, aber keine absolute Sicherheit geben, dass der Abschluss frei von wesentlichen falschen Angaben ist.',
    REVIEW:
      'Wir unterziehen Ihren Abschluss für das oben genannte Geschäftsjahr einer prüferischen Durchsicht. Sie besteht vor allem aus Befragungen und analytischen Beurteilungen. Sie reicht wesentlich weniger weit als eine Prüfung, und wir geben kein Prüfungsurteil ab.',
    COMPILATION:
      'Wir erstellen Ihren Abschluss für das oben genannte Geschäftsjahr aus den Angaben, die Sie uns machen. Wir prüfen den Abschluss nicht, sehen ihn nicht prüferisch durch und bestätigen ihn in keiner Form.',
    TAX: 'Wir erstellen Ihre Ertragsteuererklärungen für das oben genannte Geschäftsjahr aus den Angaben, die Sie uns machen. Wir prüfen diese Angaben nicht, bitten Sie aber gegebenenfalls, einige zu erläutern.',
    CAS: 'Wir übernehmen Ihr Rechnungswesen für das oben genannte Geschäftsjahr: Buchführung, Abstimmungen und die Berichte, die wir mit Ihnen vereinbaren. Wir prüfen diese Berichte nicht.',
    ADVISORY:
      'Wir beraten Sie im oben genannten Geschäftsjahr in den Angelegenheiten, die wir mit Ihnen vereinbaren. Unsere Beratung beruht auf Ihren Angaben und auf der Rechtslage zum Zeitpunkt der Beratung.',
    OTHER:
      'Wir erbringen im oben genannten Geschäftsjahr die Leistungen, die wir mit Ihnen vereinbaren, auf der Grundlage Ihrer Angaben.',
  },
  responsibilities: [
    'Ihre Mitwirkung',
    'Sie sind dafür verantwortlich, dass Ihre Angaben vollständig und richtig sind, dass Sie die Belege dazu aufbewahren und dass Sie durchsehen, was wir erstellen, bevor Sie es verwenden, unterschreiben oder einreichen.',
  ],
  feeHeading: 'Honorar',
  fees: {
    TIME_AND_MATERIALS:
      'Unser Honorar richtet sich nach dem Zeitaufwand zu unseren üblichen Sätzen, zuzüglich Auslagen. Ein oben genannter Betrag ist eine Schätzung; wir informieren Sie, bevor wir ihn überschreiten.',
    FIXED_FEE:
      'Unser Honorar ist der oben genannte Festbetrag. Arbeiten, die über dieses Schreiben hinausgehen, werden gesondert vereinbart und berechnet.',
    RECURRING:
      'Unser Honorar ist der oben genannte Betrag je Zeitraum. Arbeiten, die über dieses Schreiben hinausgehen, werden gesondert berechnet.',
    NON_BILLABLE: 'Für diesen Auftrag berechnen wir kein Honorar.',
    NONE: 'Unser Honorar richtet sich nach dem Zeitaufwand zu unseren üblichen Sätzen, zuzüglich Auslagen.',
  },
  confidentiality: [
    'Verschwiegenheit',
    'Wir behandeln Ihre Angaben vertraulich und geben sie nur weiter, soweit Sie es erlauben oder Gesetz und Berufsrecht es verlangen.',
  ],
  term: [
    'Dauer',
    'Der Auftrag beginnt, wenn alle unten Genannten unterschrieben haben, und endet mit der Erbringung der Leistungen. Beide Seiten können ihn schriftlich vorzeitig beenden. Das Honorar für die bis dahin geleistete Arbeit bleibt geschuldet.',
  ],
  agreement: [
    'Einverständnis',
    'Änderungen dieses Schreibens werden schriftlich vereinbart. Wenn es unsere Vereinbarung so beschreibt, wie Sie sie verstehen, unterschreiben Sie bitte unten.',
  ],
};

const fr: LetterTexts = {
  title: 'Lettre de mission',
  signedTitle: 'Lettre de mission – exemplaire signé',
  facts: {
    reference: 'Référence',
    engagement: 'Mission',
    fiscalYear: 'Exercice',
    from: 'Du',
    until: 'Au',
    fee: 'Honoraires',
    deposit: 'Provision',
  },
  roles: {
    PARTNER: 'Associé',
    MANAGER: 'Responsable',
    IN_CHARGE: 'Chef de mission',
    PREPARER: 'Préparation',
    REVIEWER: 'Revue',
    OTHER: 'Collaborateur',
  },
  feeTypes: {
    TIME_AND_MATERIALS: 'au temps passé',
    FIXED_FEE: 'forfait',
    RECURRING: 'honoraires périodiques',
    NON_BILLABLE: 'sans honoraires',
  },
  signedOn: 'Signé le {time}',
  scopeHeading: 'Étendue de nos services',
  scopes: {
    AUDIT:
      'Nous auditerons vos comptes de l’exercice indiqué ci-dessus selon les normes d’audit généralement admises. Un audit vise à obtenir l’assurance raisonnable, mais non absolue, que les comptes ne comportent pas d’anomalies significatives.',
    REVIEW:
      'Nous effectuerons un examen limité de vos comptes de l’exercice indiqué ci-dessus. Il consiste essentiellement en entretiens et en procédures analytiques. Son étendue est nettement moindre que celle d’un audit, et nous n’exprimerons pas d’opinion.',
    COMPILATION:
      'Nous établirons vos comptes de l’exercice indiqué ci-dessus à partir des informations que vous nous fournissez. Nous ne les auditerons pas, ne les examinerons pas et n’exprimerons aucune forme d’assurance à leur sujet.',
    TAX: 'Nous établirons vos déclarations de résultats de l’exercice indiqué ci-dessus à partir des informations que vous nous fournissez. Nous ne vérifierons pas ces informations, mais nous pourrons vous demander d’en préciser certaines.',
    CAS: 'Nous tiendrons votre comptabilité de l’exercice indiqué ci-dessus : écritures, rapprochements et états convenus avec vous. Nous n’auditerons pas ces états.',
    ADVISORY:
      'Nous vous conseillerons, pendant l’exercice indiqué ci-dessus, sur les sujets convenus avec vous. Nos conseils reposent sur les informations que vous nous fournissez et sur le droit en vigueur au moment où nous les donnons.',
    OTHER:
      'Nous fournirons, pendant l’exercice indiqué ci-dessus, les services convenus avec vous, à partir des informations que vous nous fournissez.',
  },
  responsibilities: [
    'Vos responsabilités',
    'Vous êtes responsable de l’exhaustivité et de l’exactitude des informations que vous nous donnez, de la conservation des pièces justificatives et de la relecture de nos travaux avant de les utiliser, de les signer ou de les déposer.',
  ],
  feeHeading: 'Honoraires',
  fees: {
    TIME_AND_MATERIALS:
      'Nos honoraires sont calculés au temps passé, à nos taux habituels, frais en sus. Un montant indiqué ci-dessus est une estimation ; nous vous préviendrons avant de la dépasser.',
    FIXED_FEE:
      'Nos honoraires sont le montant forfaitaire indiqué ci-dessus. Les travaux qui dépassent cette lettre sont convenus et facturés séparément.',
    RECURRING:
      'Nos honoraires sont le montant indiqué ci-dessus pour chaque période. Les travaux qui dépassent cette lettre sont facturés séparément.',
    NON_BILLABLE: 'Nous ne facturons pas d’honoraires pour cette mission.',
    NONE: 'Nos honoraires sont calculés au temps passé, à nos taux habituels, frais en sus.',
  },
  confidentiality: [
    'Confidentialité',
    'Nous gardons vos informations confidentielles et ne les communiquons que si vous l’autorisez ou si la loi et les normes professionnelles l’exigent.',
  ],
  term: [
    'Durée',
    'La mission commence lorsque toutes les personnes nommées ci-dessous ont signé et se termine avec l’exécution des services. Chaque partie peut y mettre fin plus tôt par écrit. Les honoraires des travaux effectués jusque-là restent dus.',
  ],
  agreement: [
    'Accord',
    'Toute modification de cette lettre est convenue par écrit. Si elle décrit notre accord tel que vous l’entendez, veuillez signer ci-dessous.',
  ],
};

const es: LetterTexts = {
  title: 'Carta de encargo',
  signedTitle: 'Carta de encargo – ejemplar firmado',
  facts: {
    reference: 'Referencia',
    engagement: 'Encargo',
    fiscalYear: 'Ejercicio',
    from: 'Desde',
    until: 'Hasta',
    fee: 'Honorarios',
    deposit: 'Provisión de fondos',
  },
  roles: {
    PARTNER: 'Socio',
    MANAGER: 'Responsable',
    IN_CHARGE: 'A cargo',
    PREPARER: 'Preparación',
    REVIEWER: 'Revisión',
    OTHER: 'Colaborador',
  },
  feeTypes: {
    TIME_AND_MATERIALS: 'por tiempo empleado',
    FIXED_FEE: 'importe fijo',
    RECURRING: 'honorarios periódicos',
    NON_BILLABLE: 'sin honorarios',
  },
  signedOn: 'Firmado el {time}',
  scopeHeading: 'Alcance de nuestros servicios',
  scopes: {
    AUDIT:
      'Auditaremos sus cuentas del ejercicio indicado arriba conforme a las normas de auditoría generalmente aceptadas. Una auditoría busca obtener una seguridad razonable, pero no absoluta, de que las cuentas están libres de incorrecciones materiales.',
    REVIEW:
      'Realizaremos una revisión limitada de sus cuentas del ejercicio indicado arriba. Consiste sobre todo en indagaciones y procedimientos analíticos. Su alcance es sustancialmente menor que el de una auditoría, y no expresaremos una opinión.',
    COMPILATION:
      'Elaboraremos sus cuentas del ejercicio indicado arriba a partir de la información que nos facilite. No las auditaremos ni revisaremos, y no expresaremos ninguna forma de seguridad sobre ellas.',
    TAX: 'Prepararemos sus declaraciones del impuesto sobre la renta del ejercicio indicado arriba a partir de la información que nos facilite. No verificaremos esa información, aunque podremos pedirle que aclare parte de ella.',
    CAS: 'Llevaremos su contabilidad del ejercicio indicado arriba: registros, conciliaciones y los informes que acordemos con usted. No auditaremos ni revisaremos esos informes.',
    ADVISORY:
      'Le asesoraremos durante el ejercicio indicado arriba en los asuntos que acordemos con usted. Nuestro asesoramiento se basa en la información que nos facilite y en la ley vigente cuando lo prestemos.',
    OTHER:
      'Prestaremos durante el ejercicio indicado arriba los servicios que acordemos con usted, a partir de la información que nos facilite.',
  },
  responsibilities: [
    'Sus responsabilidades',
    'Usted es responsable de que la información que nos da sea completa y exacta, de conservar los documentos que la respaldan y de revisar lo que preparamos antes de usarlo, firmarlo o presentarlo.',
  ],
  feeHeading: 'Honorarios',
  fees: {
    TIME_AND_MATERIALS:
      'Nuestros honorarios se basan en el tiempo que requiera el trabajo, a nuestras tarifas habituales, más gastos. Un importe indicado arriba es una estimación; le avisaremos antes de superarlo.',
    FIXED_FEE:
      'Nuestros honorarios son el importe fijo indicado arriba. El trabajo que exceda de esta carta se acuerda y factura por separado.',
    RECURRING:
      'Nuestros honorarios son el importe indicado arriba por cada periodo. El trabajo que exceda de esta carta se factura por separado.',
    NON_BILLABLE: 'No cobramos honorarios por este encargo.',
    NONE: 'Nuestros honorarios se basan en el tiempo que requiera el trabajo, a nuestras tarifas habituales, más gastos.',
  },
  confidentiality: [
    'Confidencialidad',
    'Mantenemos la confidencialidad de su información y solo la revelamos si usted lo permite o si la ley y las normas profesionales lo exigen.',
  ],
  term: [
    'Duración',
    'El encargo comienza cuando hayan firmado todas las personas nombradas abajo y termina al completarse los servicios. Cualquiera de las partes puede terminarlo antes por escrito. Los honorarios del trabajo realizado hasta entonces siguen siendo exigibles.',
  ],
  agreement: [
    'Conformidad',
    'Los cambios en esta carta se acuerdan por escrito. Si la carta describe nuestro acuerdo tal como usted lo entiende, firme abajo, por favor.',
  ],
};

export const letterTexts: Readonly<Record<Language, LetterTexts>> = { en, de, fr, es };

/** Returns the sections of a letter. They contain no user input, so the text is in one script. */
export function sectionsOf({
  type,
  feeType,
  language,
}: Pick<Letter, 'type' | 'feeType' | 'language'>): readonly Section[] {
  const texts = letterTexts[language];
  return [
    [texts.scopeHeading, texts.scopes[type]],
    texts.responsibilities,
    [texts.feeHeading, texts.fees[feeType ?? 'NONE']],
    texts.confidentiality,
    texts.term,
    texts.agreement,
  ];
}
