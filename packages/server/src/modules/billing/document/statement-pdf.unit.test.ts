import { extractText, getDocumentProxy } from 'unpdf';
import { expect, test } from 'vitest';
import { layoutFaults } from '../../../../test/modules/layout-faults.ts';
import { render, type StatementDocument } from './statement-pdf.ts';
import { statementTexts } from './statement-texts.ts';

const zeros = { notDue: '0.00', days1To30: '0.00', days31To60: '0.00', days61To90: '0.00', daysOver90: '0.00' };

function statementOf(count: number): StatementDocument {
  const movements = Array.from({ length: count }, (_, index) => ({
    id: `0199a1c2-1a08-7c01-8a4f-${String(index).padStart(12, '0')}`,
    businessDate: '2026-02-10',
    account: 'RECEIVABLE' as const,
    kind: 'INVOICE' as const,
    documentNumber: `INV-2026-${String(index).padStart(5, '0')}`,
    invoiceId: null,
    paymentId: null,
    dueDate: null,
    reason: null,
    amount: '100.00',
    balance: `${index + 1}00.00`,
  }));
  return {
    clientRef: 'C-01042',
    language: 'en',
    clientName: 'Café Zoë & Σίσυφος',
    clientAddress: null,
    firmName: 'Hartwell & Oakes LLP',
    firmAddress: null,
    firmCountry: 'US',
    currency: 'USD',
    from: '2026-02-01',
    to: '2026-02-28',
    createdAt: '2026-03-01T08:00:00.000Z',
    openingBalance: '0.00',
    closingBalance: `${count}00.00`,
    ageing: { ...zeros, notDue: `${count}00.00`, unappliedCredit: '0.00' },
    movements,
  };
}

test('a statement of many pages has every movement once, and its head on each page', async () => {
  const pdf = await render(statementOf(500));
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(pdf)));
  expect(text.length).toBeGreaterThan(5);
  expect(text.every((page) => /Date\s+Movement\s+Document/.test(page))).toBe(true);
  expect(text.join(' ').match(/INV-2026-\d{5}/g)?.length).toBe(500);
  expect(text.join(' ')).toContain('Café Zoë & Σίσυφος (C-01042)');
  expect(text.at(-1)).toMatch(/Closing balance\s+50,000\.00/);
});

test('a statement deducts credit that is not applied, so that its ages add up to the balance', async () => {
  const { ageing, ...statement } = statementOf(2);
  const pdf = await render({ ...statement, closingBalance: '150.00', ageing: { ...ageing, unappliedCredit: '50.00' } });
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(pdf)));
  expect(text.join(' ')).toMatch(/Not due\s+USD 200\.00\s+Credit\s+USD -50\.00\s+Balance\s+USD 150\.00/);
});

test.each([
  ['de', 'DE', 'Kontoauszug', '10.02.2026', '1.234,50', 'USD 200,00'],
  ['fr', 'FR', 'Relevé de compte', '10 févr. 2026', '1 234,50', 'USD 200,00'],
  ['es', 'MX', 'Estado de cuenta', '10 feb 2026', '1,234.50', 'USD 200.00'],
] as const)(
  'a statement in %s for %s has its texts, days and amounts',
  async (language, country, title, day, amount, due) => {
    const address = { line1: 'Am Markt 1', line2: null, city: 'Stadt', state: null, postalCode: '20095', country };
    const statement = { ...statementOf(2), language, clientAddress: address, openingBalance: '1234.50' };
    const { text } = await extractText(await getDocumentProxy(new Uint8Array(await render(statement))));
    const words = text.join(' ').replaceAll(/\s/g, ' ');
    const { balance, closing, kinds, ages } = statementTexts[language];
    const nation = new Intl.DisplayNames(language, { type: 'region' }).of(country);
    for (const part of [title, day, amount, due, balance, closing, kinds.INVOICE, ages.notDue, 'Am Markt 1', nation])
      expect(words).toContain(part);
    expect(words).not.toMatch(/Statement|Opening|Page 1 of|Not due/);
  },
);

test.each(['en', 'de', 'fr', 'es'] as const)(
  'a statement in %s has room for values of any length',
  async (language) => {
    const amount = '-9999999999999.99';
    const statement = statementOf(20);
    const movements = statement.movements.map((movement) => ({
      ...movement,
      amount,
      balance: amount,
      documentNumber: 'N'.repeat(40),
    }));
    const balances = {
      openingBalance: amount,
      closingBalance: amount,
      clientName: 'C '.repeat(100),
      firmName: 'F'.repeat(200),
    };
    const ageing = { ...statement.ageing, daysOver90: amount, unappliedCredit: '9999999999999.99' };
    const pdf = await render({ ...statement, ...balances, language, movements, ageing });
    expect(await layoutFaults(pdf, 54)).toEqual([]);
  },
);
