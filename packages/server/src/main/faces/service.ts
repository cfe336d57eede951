/** The service for programs that run it, or that fill it: the demo data, the contract check and the MCP server. */
import '../../app/handlers.ts';

export { ensureApiUser } from '../../admission/create-key.ts';
export { readConfig } from '../../app/read-config.ts';
export { contract } from '../../contract/contract.ts';
export type { Plan } from '../../entity/plan.ts';
export { entityNamed } from '../../entity/registry.ts';
export type { EntityType, Row, RowInput } from '../../entity/row.ts';
export type { Service } from '../../entity/service.ts';
export type { UnitOfWork } from '../../entity/unit-of-work.ts';
export { createApiKey, signApiKeyAgain } from '../../operator/api-keys.ts';
export { checkBooks } from '../../operator/books.ts';
export type { Operator } from '../../operator/operator.ts';
export { onDatabase, unlimited } from '../../operator/run-commands.ts';
export { setTenantSetting } from '../../operator/tenant-settings.ts';
export { asOperator, createTenant, tenantNamed } from '../../operator/tenants.ts';
export type { Tenant } from '../../platform/auth/caller.ts';
export { type Decimal, parseDecimal, sum } from '../../platform/decimal.ts';
export { pasteable } from '../../platform/operator-command.ts';
export type { StoredContent } from '../../platform/storage/storage.ts';
export { newId } from '../../platform/store/new-id.ts';
export type { Session } from '../../platform/store/session.ts';
export type { Store, Transaction } from '../../platform/store/store.ts';
export { serve } from '../main.ts';
