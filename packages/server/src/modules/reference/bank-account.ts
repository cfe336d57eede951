import { isValidBIC, isValidIBAN } from 'ibantools';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';

type BankAccount = Row<'Org'>['bankAccounts'][number];
type ListedAccount = Pick<BankAccount, 'iban'> & {
  readonly [Name in 'accountNumber' | 'bank' | 'bic' | 'accountHolder']?: BankAccount[Name] | undefined;
};

/** @throws Rejection if a bank account cannot exist: its IBAN or its BIC is wrong. */
export function completeBankAccounts(listed: readonly ListedAccount[], plan: Plan): BankAccount[] {
  return listed.map(({ iban, accountNumber, bank, bic = null, accountHolder = null }, index) => {
    plan.at(`/bankAccounts/${index}`, () => {
      if (iban === null && accountNumber == null)
        throw invalidField('accountNumber', 'accountNumber is required for an account without an IBAN.');
      if (iban !== null && !isValidIBAN(iban))
        throw invalidField(
          'iban',
          `${iban} is no IBAN: its country, its length, its form or its check digits are wrong.`,
        );
      if (bic !== null && !isValidBIC(bic)) throw invalidField('bic', `${bic} is no BIC: it names no country.`);
    });
    return { iban, ...(accountNumber != null && { accountNumber }), ...(bank != null && { bank }), bic, accountHolder };
  });
}
