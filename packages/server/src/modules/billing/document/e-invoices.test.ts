/** Electronic invoices through the API. `e-invoice.unit.test.ts` compares their amounts with documents. */
import type { components } from '@financial-automation/spec';
import { expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { sharedService } from '../../../../test/service.ts';

type Problem = components['schemas']['Problem'];

const service = await sharedService();
const { draftOf, invoice, newClient, post, preparer, records, staffId } = await firm(service);
const org = (await service.call<{ data: { systemRef: string }[] }>('POST', '/gql/v1/orgs', {})).body.data[0]?.systemRef;
const vat = [{ name: 'VAT', ratePercent: '19', category: 'S' as const }];
const address = { line1: 'Hafenstraße 1', city: 'Hamburg', postalCode: '20457', country: 'DE' };

const documentOf = <Body>(id: string, format: string) =>
  preparer.call<Body>('GET', `/api/v1/invoices/${id}/documents/${format}`);
const pointersOf = async (id: string, format: string) => {
  const { status, body } = await documentOf<Problem>(id, format);
  return [status, body.code, body.errors?.map(({ pointer }) => pointer)];
};

async function bytesOf(id: string, format: string) {
  const response = await fetch(`${service.address}/api/v1/invoices/${id}/documents/${format}`, {
    headers: { Authorization: `Bearer ${preparer.token}`, Tenant: service.tenant.name },
  });
  return {
    type: response.headers.get('content-type'),
    disposition: response.headers.get('content-disposition'),
    text: Buffer.from(await response.arrayBuffer()).toString('latin1'),
  };
}

test('getInvoiceDocument names what an invoice lacks, and returns it once that is written', async () => {
  const client = await newClient({ name: 'Ohne Adresse GmbH', address: { country: null } });
  const id = await post(await draftOf([{ unitAmount: '340.00', taxes: vat }], { clientId: client.id }));
  expect(await pointersOf(id, 'ubl')).toEqual([
    409,
    'DOCUMENT_INCOMPLETE',
    [
      '/office/address/country',
      '/billingAddress/country',
      '/org/electronicAddress',
      '/client/electronicAddress',
      '/buyerReference',
      '/org/vatId',
    ],
  ]);
  const electronicAddress = { scheme: '9930', id: 'DE136695976' };
  const own = { vatId: 'DE136695976', electronicAddress, bankAccounts: [{ iban: 'DE89370400440532013000' }] };
  await records.update([{ type: 'Org', systemRef: org ?? '', attributes: own }]);
  const { body: orgs } = await service.call<{ data: { id: string }[] }>('POST', '/gql/v1/orgs', {});
  await records.make('Office', {
    name: 'Berlin',
    code: 'B',
    orgId: orgs.data[0]?.id,
    timeZone: 'Europe/Berlin',
    address,
    phone: '+4930123456',
  });
  await records.update([{ type: 'Client', systemRef: client.id, attributes: { electronicAddress } }]);
  const { body: info } = await service.call<components['schemas']['Client']>('GET', `/gql/v1/client/${client.id}`);
  const contactInfo = { type: 'ContactInfo', systemRef: info.clientContactInfoId ?? '', attributes: { address } };
  await records.update([contactInfo]);
  const { systemRef } = await invoice(id);
  await records.update([{ type: 'Invoice', systemRef, attributes: { buyerReference: '04011000-12345-34' } }]);
  expect(await pointersOf(id, 'xrechnung')).toEqual([409, 'DOCUMENT_INCOMPLETE', ['/client/managerId']]);
  const { body } = await documentOf<components['schemas']['InvoiceDocumentFormats']>(id, 'json');
  expect(body.formats.map(({ format, missing }) => [format, missing.length])).toEqual([
    ['pdf', 0],
    ['ubl', 1],
    ['xrechnung', 1],
    ['facturx', 0],
  ]);
  const manager = { type: 'Staff', systemRef: staffId, attributes: { phone: '+4940123456' } };
  const owner = { type: 'Client', systemRef: client.id, attributes: { managerId: staffId } };
  expect((await records.update([owner])).map(({ error }) => error)).toEqual([null]);
  // The client has no office of its own: the phone is that of the office whose address the document has.
  expect((await bytesOf(id, 'xrechnung')).text).toContain('<cbc:Telephone>+4930123456<');
  expect((await records.update([manager])).map(({ error }) => error)).toEqual([null]);
  const { text } = await bytesOf(id, 'xrechnung');
  expect(text).toContain('<cbc:CustomizationID>urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0<');
  expect(text).toContain('<cbc:BuyerReference>04011000-12345-34<');
  expect(text).toContain('<cbc:Telephone>+4940123456<');
});

test('getInvoiceDocument returns the PDF, UBL and Factur-X of an invoice and of its credit note', async () => {
  const electronicAddress = { scheme: '9930', id: 'DE136695976' };
  const austrian = { ...address, city: 'Wien', postalCode: '1010', country: 'AT' };
  const own = { address: austrian, electronicAddress, documentLanguage: 'de' };
  const client = await newClient({ name: 'Käufer GmbH', ...own });
  const more = { clientId: client.id, purchaseOrder: 'PO-1' };
  const id = await post(await draftOf([{ unitAmount: '340.00', taxes: vat }], more));
  const { body: row } = await service.call<components['schemas']['Invoice']>('GET', `/gql/v1/invoice/${id}`);
  const ubl = await bytesOf(id, 'ubl');
  expect(ubl.type).toBe('application/xml');
  expect(ubl.disposition).toBe(`attachment; filename="Rechnung ${row.invoiceNumber}.ubl.xml"`);
  expect(ubl.text).toContain(`<cbc:ID>${row.invoiceNumber}</cbc:ID>`);
  expect(ubl.text).toContain('<cbc:PayableAmount currencyID="USD">404.60</cbc:PayableAmount>');
  expect(ubl.text).toContain('poacc:billing:3.0</cbc:CustomizationID>');
  const pdf = await bytesOf(id, 'pdf');
  expect(pdf.text).toMatch(/^%PDF/);
  expect(pdf.disposition).toBe(`attachment; filename="Rechnung ${row.invoiceNumber}.pdf"`);
  const facturx = await bytesOf(id, 'facturx');
  expect([facturx.type, facturx.text.slice(0, 5)]).toEqual(['application/pdf', '%PDF-']);
  expect(facturx.text).toContain('<pdfaid:part>3</pdfaid:part>');
  const discount = { lineType: 'DISCOUNT', unitAmount: '-100.00', taxes: vat } as const;
  const note = await post(await draftOf([discount], { ...more, creditedInvoiceId: id }));
  const credit = await bytesOf(note, 'ubl');
  expect(credit.text).toContain('CreditNote-2');
  expect(credit.text).toContain('<cbc:PayableAmount currencyID="USD">119.00</cbc:PayableAmount>');
  const { systemRef } = await invoice(note);
  const voided = { status: 'VOIDED', voidReason: 'Wrong' };
  await records.update([{ type: 'Invoice', systemRef, attributes: voided }]);
  expect(await pointersOf(note, 'ubl')).toEqual([409, 'INVALID_STATE', undefined]);
  expect(await pointersOf('0199c3d3-0c01-7c01-8a4f-5d2e9b60f1ff', 'ubl')).toEqual([404, 'NOT_FOUND', undefined]);
});
