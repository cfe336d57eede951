import * as at from 'stdnum/lib/cjs/at/uid.js';
import * as au from 'stdnum/lib/cjs/au/abn.js';
import * as be from 'stdnum/lib/cjs/be/vat.js';
import * as bg from 'stdnum/lib/cjs/bg/vat.js';
import * as ca from 'stdnum/lib/cjs/ca/gst.js';
import * as ch from 'stdnum/lib/cjs/ch/vat.js';
import * as cy from 'stdnum/lib/cjs/cy/vat.js';
import * as cz from 'stdnum/lib/cjs/cz/dic.js';
import * as de from 'stdnum/lib/cjs/de/vat.js';
import * as dk from 'stdnum/lib/cjs/dk/cvr.js';
import * as ee from 'stdnum/lib/cjs/ee/kmkr.js';
import * as es from 'stdnum/lib/cjs/es/nif.js';
import * as fi from 'stdnum/lib/cjs/fi/alv.js';
import * as fr from 'stdnum/lib/cjs/fr/tva.js';
import * as gb from 'stdnum/lib/cjs/gb/vat.js';
import * as gr from 'stdnum/lib/cjs/gr/vat.js';
import * as hr from 'stdnum/lib/cjs/hr/oib.js';
import * as hu from 'stdnum/lib/cjs/hu/anum.js';
import * as ie from 'stdnum/lib/cjs/ie/vat.js';
import * as india from 'stdnum/lib/cjs/in/gstin.js';
import * as it from 'stdnum/lib/cjs/it/iva.js';
import * as lt from 'stdnum/lib/cjs/lt/pvm.js';
import * as lu from 'stdnum/lib/cjs/lu/tva.js';
import * as lv from 'stdnum/lib/cjs/lv/pvn.js';
import * as mt from 'stdnum/lib/cjs/mt/vat.js';
import * as nl from 'stdnum/lib/cjs/nl/btw.js';
import * as no from 'stdnum/lib/cjs/no/mva.js';
import * as nz from 'stdnum/lib/cjs/nz/ird.js';
import * as pl from 'stdnum/lib/cjs/pl/nip.js';
import * as pt from 'stdnum/lib/cjs/pt/nif.js';
import * as ro from 'stdnum/lib/cjs/ro/cif.js';
import * as se from 'stdnum/lib/cjs/se/vat.js';
import * as si from 'stdnum/lib/cjs/si/ddv.js';
import * as sk from 'stdnum/lib/cjs/sk/dph.js';
import * as za from 'stdnum/lib/cjs/za/vat.js';
import { schemaOf } from '../../contract/contract.ts';
import { invalidField } from '../../entity/invalid-field.ts';

/** The rules of countries whose VAT IDs have a known form and check digits. Each is imported by itself: all of the library takes a second. */
const countries: Readonly<Record<string, typeof de>> = {
  AT: at,
  AU: au,
  BE: be,
  BG: bg,
  CA: ca,
  CH: ch,
  CY: cy,
  CZ: cz,
  DE: de,
  DK: dk,
  EE: ee,
  EL: gr,
  ES: es,
  FI: fi,
  FR: fr,
  GB: gb,
  HR: hr,
  HU: hu,
  IE: ie,
  IN: india,
  IT: it,
  LT: lt,
  LU: lu,
  LV: lv,
  MT: mt,
  NL: nl,
  NO: no,
  NZ: nz,
  PL: pl,
  PT: pt,
  RO: ro,
  SE: se,
  SI: si,
  SK: sk,
  XI: gb,
  ZA: za,
};

const assigned = new RegExp(schemaOf('Country').pattern ?? '');

/**
 * Checks a VAT ID by the rules of the country that it begins with: its form, and its check digits where the country has them. Greece has the
 * prefix EL, Northern Ireland XI.
 *
 * @throws Rejection if it cannot be one.
 */
export function checkVatId(vatId: string | null, previous: string | null | undefined): void {
  if (vatId === null || vatId === previous) return;
  const country = vatId.slice(0, 2);
  const rules = countries[country];
  if (country === 'GR') throw invalidField('vatId', 'The VAT IDs of Greece begin with EL.');
  if (rules === undefined && !assigned.test(country))
    throw invalidField('vatId', `A VAT ID begins with the code of its country, and ${country} is none.`);
  // Some rules expect the prefix, and some the number alone.
  const results = [vatId, vatId.slice(2)].map((text) => rules?.validate(text));
  if (results.some((result) => result?.isValid !== false)) return;
  const isChecksum = results.some((result) => result?.error?.name === 'InvalidChecksum');
  throw invalidField(
    'vatId',
    `${vatId} is no VAT ID of ${country}: ${isChecksum ? 'its check digits are wrong.' : 'it has another form.'}`,
  );
}
