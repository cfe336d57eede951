/** Bank statements in our own words from their documented formats. */

export const ofx = `OFXHEADER:100
DATA:OFXSGML
VERSION:102

<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>USD
<BANKACCTFROM><BANKID>121<ACCTID>000123<ACCTTYPE>CHECKING</BANKACCTFROM>
<BANKTRANLIST><DTSTART>20260301<DTEND>20260331
<STMTTRN><TRNTYPE>CREDIT<DTPOSTED>20260305120000[-5:EST]<TRNAMT>1250.00<FITID>f1<NAME>HARBOR &amp; PINE<MEMO>inv 2026 001</STMTTRN>
<STMTTRN><TRNTYPE>CREDIT<DTPOSTED>20260306<TRNAMT>+300.00<FITID>f2<NAME>Someone<MEMO>thanks</STMTTRN>
<STMTTRN><TRNTYPE>CHECK<DTPOSTED>20260307<TRNAMT>-80.00<FITID>f3<CHECKNUM>77<NAME>Rent</STMTTRN>
</BANKTRANLIST><LEDGERBAL><BALAMT>1470.00<DTASOF>20260331</LEDGERBAL></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>
`;

export const entry = (
  amount: string,
  name: string,
  text: string,
  more = '',
) => `<Ntry><Amt Ccy="USD">${amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
<BookgDt><Dt>2026-03-10</Dt></BookgDt><AcctSvcrRef>r${amount}</AcctSvcrRef><NtryDtls><TxDtls>
<RltdPties><Dbtr><Pty><Nm>${name}</Nm></Pty></Dbtr></RltdPties><RmtInf><Ustrd>${text}</Ustrd></RmtInf></TxDtls></NtryDtls>${more}</Ntry>`;
export const balances = (
  closing: string,
) => `<Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="USD">100.00</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="USD">${closing}</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>`;
export const statement = (iban: string, content: string) =>
  `<Stmt><Acct><Id><IBAN>${iban}</IBAN></Id><Ccy>USD</Ccy></Acct>${content}</Stmt>`;
export const camt = (...statements: string[]) => `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>${statements.join('')}</BkToCstmrStmt></Document>`;

export const mt940 = `:20:START
:25:10020030/1234567
:28C:5/1
:60F:C260309USD100,00
:61:2603110311CR49,50NTRFNONREF//B-77
:86:166?00GUTSCHRIFT?20EREF+E1 SVWZ+INV-2026-?21004 Rest?32MOEWE?33 SOEHNE
:61:2603120312DR10,NCHGNONREF
:86:808?00GEBUEHR
:62F:C260312USD139,50
-
`;

export const bai2 = `01,122099999,123456789,260313,0200,1,80,1,2/
02,031001234,122099999,1,260313,2359,USD,2/
03,0975312468,,010,10000,,,015,70000,,/
16,142,60000,0,REF9,,TERN LTD, INV-2026-
88,005 FIRST PART
49,150000,4/
98,150000,1,6/
99,150000,1,8/
`;
