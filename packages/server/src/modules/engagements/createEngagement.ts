import type { Handler } from '../../entity/context.ts';
import { writtenRow } from '../../query/entity-tag.ts';
import { checkClientRef } from '../clients/index.ts';
import { engagement } from './engagement.ts';
import { planEngagement } from './plan-engagement.ts';
import { writeLetters } from './write-letter.ts';

/** Creates an engagement and the first version of its letter, both drafts. */
export const createEngagement: Handler<'createEngagement'> = (context, { body }) =>
  context.write(async (unit) => {
    const id = await unit.plan((plan) => {
      checkClientRef(plan, body);
      return planEngagement(plan, body);
    });
    await writeLetters(unit, id);
    const written = await writtenRow(unit, context, engagement, id);
    const headers = { Location: `/gql/v1/engagement/${id}`, ETag: written.tag };
    return { status: 201, headers, body: written.row };
  });
