import { extractText, getDocumentProxy } from 'unpdf';
import { expect, test } from 'vitest';
import { layoutFaults } from '../../../test/modules/layout-faults.ts';
import type { Letter } from './letter.ts';
import { render } from './letter-pdf.ts';
import { letterTexts } from './letter-text.ts';
import { renderLetter } from './write-letter.ts';

const letter: Letter = {
  engagementId: '0199a1c2-0d07-7c01-8a4f-5d2e9b60f101',
  clientId: '0199a1c2-0c01-7c01-8a4f-5d2e9b60f101',
  fileName: 'Engagement letter E-2026-0112.pdf',
  folderPath: '/Harbor & Pine LLC/Engagements',
  isSigned: false,
  createdAt: '2026-09-08T16:31:20.904Z',
  date: '2026-09-08',
  timeZone: 'America/Los_Angeles',
  language: 'en',
  country: 'US',
  firmCountry: 'US',
  engagementRef: 'E-2026-0112',
  name: '2026 tax engagement',
  type: 'TAX',
  fiscalYear: 2026,
  startDate: '2026-09-08',
  endDate: '2027-03-31',
  feeAmount: '12345678901234.50',
  feeType: 'FIXED_FEE',
  depositAmount: null,
  currency: 'USD',
  firmName: 'Hartwell & Oakes LLP',
  clientName: 'Harbor & Pine LLC',
  addressLines: ['1180 NW Dockside Ave', 'Portland OR 97209', 'US'],
  partner: 'Dana Whitfield',
  manager: null,
  staff: [{ name: 'Owen Castell', role: 'IN_CHARGE' }],
  signers: [{ name: 'Ines Calder', signedAt: null }],
};

/** Extracts the text of a PDF, page by page. */
async function textOf(bytes: Uint8Array): Promise<string[]> {
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(bytes)));
  return text;
}

test('an engagement letter contains the data of the engagement', async () => {
  const bytes = await render(letter);
  const text = (await textOf(bytes)).join('\n');
  for (const words of [
    'Hartwell & Oakes LLP',
    'September 8, 2026',
    'Harbor & Pine LLC',
    '1180 NW Dockside Ave',
    'E-2026-0112',
    'March 31, 2027',
    'Dana Whitfield',
    'In charge',
    'Owen Castell',
    'USD 12,345,678,901,234.50, fixed fee',
    'We will prepare your income tax returns',
    'Ines Calder',
    'Page 1 of',
  ])
    expect(text).toContain(words);
  expect(text).not.toMatch(/Manager|Deposit|Signed on|null|undefined/);
});

test.each([
  [
    'de',
    'DE',
    'Auftragsschreiben',
    '8. September 2026',
    'USD 12.345.678.901.234,50, Festhonorar',
    '10. September 2026 um 23:12 MESZ',
  ],
  [
    'fr',
    'FR',
    'Lettre de mission',
    '8 septembre 2026',
    'USD 12 345 678 901 234,50, forfait',
    '10 septembre 2026 à 23:12 UTC+2',
  ],
  [
    'es',
    'ES',
    'Carta de encargo',
    '8 de septiembre de 2026',
    'USD 12.345.678.901.234,50, importe fijo',
    '10 de septiembre de 2026 a las 23:12 CEST',
  ],
] as const)(
  'an engagement letter in %s for %s has its texts, days and amounts',
  async (language, country, title, day, fee, signed) => {
    const signers = [{ name: 'Ines Calder', signedAt: '2026-09-10T21:12:30Z' }];
    const zone = { timeZone: 'Europe/Berlin', language, country, isSigned: true, signers };
    const text = (await textOf(await render({ ...letter, ...zone }))).join(' ').replaceAll(/\s+/g, ' ');
    for (const words of [title, day, fee, signed, letterTexts[language].scopes.TAX.slice(0, 40)])
      expect(text).toContain(words);
    expect(text).not.toMatch(/Engagement|Reference|Signed|Page 1 of/);
  },
);

test.each([
  ['US', [612, 792]],
  ['DE', [595.28, 841.89]],
] as const)('an engagement letter of a firm in %s has the paper of its country', async (firmCountry, size) => {
  const pdf = await getDocumentProxy(new Uint8Array(await render({ ...letter, country: 'FR', firmCountry })));
  const { width, height } = (await pdf.getPage(1)).getViewport({ scale: 1 });
  expect([width, height]).toEqual(size);
});

test('an engagement letter is the same each time', async () => {
  expect(await render(letter)).toEqual(await render(letter));
  expect(await render({ ...letter, name: 'Other' })).not.toEqual(await render(letter));
});

test('an engagement letter is the same from the worker thread, which also propagates errors', async () => {
  const broken: Letter = { ...letter, date: 'never' };
  const [first, failed, second] = await Promise.allSettled([letter, broken, letter].map((one) => renderLetter(one)));
  const value = new Uint8Array(await render(letter));
  expect([first, second]).toEqual([
    { status: 'fulfilled', value },
    { status: 'fulfilled', value },
  ]);
  expect(failed).toMatchObject({ status: 'rejected', reason: { name: 'RangeError' } });
});

test('the signed copy of an engagement letter contains the signatures with their times', async () => {
  const signers = [
    { name: 'Ines Calder', signedAt: '2026-09-10T21:12:30Z' },
    { name: 'Tomas Reyes', signedAt: '2026-09-09T04:00:00Z' },
  ];
  const text = (await textOf(await render({ ...letter, isSigned: true, signers }))).join(' ');
  expect(text).toMatch(/signed copy/);
  expect(text).toMatch(
    /Signed on September 10, 2026 at 2:12\sPM PDT\s+Ines Calder\s+Signed on September 8, 2026 at 9:00\sPM PDT\s+Tomas Reyes/,
  );
});

test.each([
  'Zoë Müller-Łukasiewicz Ștefănescu',
  'Νίκος Παπαδόπουλος',
  'Анна Ковалёва',
  'Nguyễn Thị Hạnh',
  'שרה בת יעקב',
  'محمد بن عبد الله',
  '王小明 & 田中さくら',
  'Գրիգոր Նարեկացի',
  'ქართული ბანკი',
])('an engagement letter contains %s as readable text', async (name) => {
  const signers = [{ name, signedAt: null }];
  const text = (await textOf(await render({ ...letter, clientName: `${name} Ltd`, signers }))).join(' ');
  // A font may use one glyph for several characters: equivalent characters are compared.
  expect(text.normalize('NFKC')).toContain(name.normalize('NFKC'));
});

test('an engagement letter breaks very long names, and continues on the next page', async () => {
  const word = 'Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz';
  const clientName = `${word}${word}${word} ${word}`;
  const signers = Array.from({ length: 20 }, (_, number) => ({ name: `Signer ${number + 1}`, signedAt: null }));
  const staff = Array.from({ length: 100 }, (_, number) => ({
    name: `Person ${number + 1}`,
    role: 'PREPARER' as const,
  }));
  const pages = await textOf(await render({ ...letter, clientName, name: 'x'.repeat(200), signers, staff }));
  expect(pages.length).toBeGreaterThan(3);
  const text = pages.join('\n');
  expect(text.replaceAll(/\s/g, '')).toContain(clientName.replaceAll(' ', ''));
  expect(text).toContain('Person 100');
  expect(text).toContain('Signer 20');
  expect(pages.at(-1)).toContain(`Page ${pages.length} of ${pages.length}`);
});

test.each(['en', 'de', 'fr', 'es'] as const)('a letter in %s has room for values of any length', async (language) => {
  const name = 'n'.repeat(200);
  const people = {
    partner: name,
    manager: name,
    staff: (['IN_CHARGE', 'REVIEWER', 'PREPARER', 'OTHER'] as const).map((role) => ({ name, role })),
  };
  const long = {
    ...letter,
    ...people,
    language,
    name,
    firmName: name,
    clientName: name,
    depositAmount: letter.feeAmount,
  };
  expect(await layoutFaults(await render({ ...long, engagementRef: 'E'.repeat(40) }), 64)).toEqual([]);
});
