import type { components } from '@financial-automation/spec';
import { schemaOf } from '../../contract/contract.ts';
import type { Handler } from '../../entity/context.ts';

type Role = components['schemas']['Role'];

const isRole = (role: string): role is Role => schemaOf('Role').enum?.includes(role) === true;

/** Returns the API user of the token, the roles that its calls are checked against, and its tenant. */
export const getMe: Handler<'getMe'> = async ({ caller, tenant, holds }) => {
  const { hourIncrement, timeApproval, selfApproval, reviewCompletedJobs, wipEvents, deliveryPorts } = tenant.settings;
  const { name, currency, timeZone, isSandbox } = tenant;
  const roles = (schemaOf('Role').enum ?? []).filter(isRole).filter((role) => holds([role]));
  return {
    status: 200,
    body: {
      id: caller.apiUserId,
      name: caller.apiUserName,
      staffId: caller.staffId,
      roles,
      tenant: {
        ...{ name, currency, timeZone, isSandbox, hourIncrement, timeApproval, selfApproval, reviewCompletedJobs },
        ...{ wipEvents, deliveryPorts: [...deliveryPorts] },
      },
    },
  };
};
