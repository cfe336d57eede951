import type { Input } from '../../contract/handler.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import { lockVersion } from '../../entity/lock-version.ts';
import type { Plan } from '../../entity/plan.ts';
import { versionToMatch, writtenRow } from '../../query/entity-tag.ts';
import { job } from '../projects/index.ts';
import { engagement } from './engagement.ts';
import { linkJobs } from './plan-engagement.ts';
import { changeSigners, checkSigner, type Signer } from './signers.ts';
import { writeLetters } from './write-letter.ts';

/** Updates an engagement; omitted fields keep their values. */
export const updateEngagement: Handler<'updateEngagement'> = (context, { path, body }) =>
  context.write(async (unit) => {
    const id = path.engagementId;
    const version = await versionToMatch(unit, context, engagement, id);
    await unit.plan((plan) => change(plan, id, version, body));
    await writeLetters(unit, id);
    const { row, tag } = await writtenRow(unit, context, engagement, id);
    return { status: 200, headers: { ETag: tag }, body: row };
  });

function change(plan: Plan, id: string, version: number | undefined, body: Input<'updateEngagement'>['body']): void {
  const row = lockVersion(plan, engagement, id, version);
  const { signers: entries, jobIds, ...fields } = body;
  const { clientId = row.clientId, status = row.status } = fields;
  const signers = entries === undefined ? row.signers : changeSigners(plan, { row, clientId, status }, entries);
  if (clientId !== row.clientId) checkClient(plan, clientId, signers);
  plan.update(engagement, id, fields, { system: { signers } });
  if (jobIds !== undefined) linkJobs(plan, id, clientId, jobIds);
  else if (clientId !== row.clientId && plan.all(job, 'engagementId', id).length > 0)
    throw new Rejection('VALIDATION_ERROR', 'Jobs of another client are linked. Send jobIds of this one.', '/clientId');
}

/** Checks that all signers are linked to the client, also to a new one. */
function checkClient(plan: Plan, clientId: string, signers: readonly Signer[]): void {
  plan.each(signers, ({ contactId }) => checkSigner(plan, clientId, contactId, '/clientId'));
}
