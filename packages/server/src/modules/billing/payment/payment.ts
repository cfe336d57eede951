import { sql } from 'kysely';
import { defineEntity, manyIn, one } from '../../../entity/entity.ts';
import { allocationDate } from '../ledger/ledger-entry.ts';
import { invoiceNumber } from '../link/payment-link.ts';

/** Money that a client paid, and its allocations. */
export const payment = defineEntity('Payment', {
  table: 'payment',
  relations: { client: one('Client', 'clientId'), allocations: manyIn('payment_allocation', 'paymentId') },
  owned: {
    allocations: {
      table: 'payment_allocation',
      owner: 'payment_id',
      embeds: { invoiceNumber },
      computed: { date: allocationDate },
    },
  },
  computed: { netAmount: (row) => sql.ref(`${row}.net_amount`) },
});
