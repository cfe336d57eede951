import type { Handler } from '../../context.ts';
import { Problem } from '../../http/problem.ts';
import { readNumberPage } from '../../query/number-page.ts';
import { recordRow } from './record-row.ts';
import { isAdmitted } from './record-type.ts';
import { recordTypeNamed } from './record-types.ts';

/** The records of a type, inactive ones too, page by page. */
export const lookupRecords: Handler<'lookupRecords'> = (context, { path, body }) =>
  context.read(async (session) => {
    const type = await recordTypeNamed(session, context.tenant.id, path.type);
    if (type === undefined) throw new Problem('NOT_FOUND', `There is no record type ${path.type}.`);
    if (!isAdmitted(context.caller.roles, type.readRoles)) {
      throw new Problem(
        'FORBIDDEN',
        `To read records of the type ${type.name} needs the role ${type.readRoles.join(' or ')}.`,
      );
    }
    const page = await readNumberPage(session, context.tenant.id, type.entity, body);
    return { status: 200, body: { ...page, data: page.data.map((row) => recordRow(type, row)) } };
  });
