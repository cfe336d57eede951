/** Parts of the service that are measured alone, in addition to those of `service.ts`. */
export { Directory } from '../../admission/directory.ts';
export { createApp } from '../../app/app.ts';
export { toRejection } from '../../app/failure.ts';
export { type AnyHandler, handlers } from '../../app/handlers.ts';
export { isMarked } from '../../app/mark-pages.ts';
export { signIn } from '../../app/sign-in.ts';
export {
  allOperations,
  bundleFiles,
  contract,
  type Operation,
  schemaOf,
} from '../../contract/contract.ts';
export { millisecondsOf } from '../../contract/durations.ts';
export { propertiesOf } from '../../contract/fields.ts';
export { declarationsOf, parametersOf } from '../../contract/parameters.ts';
export { problemDocument } from '../../contract/problem.ts';
export { authorize } from '../../contract/roles.ts';
export type { Context, PublicContext } from '../../entity/context.ts';
export type { AnyEntity } from '../../entity/entity.ts';
export { allEntities } from '../../entity/registry.ts';
export { createService } from '../../entity/service.ts';
export { DeliveryAddresses } from '../../platform/addresses.ts';
export { newId } from '../../platform/store/new-id.ts';
export { openStore, type Session, type StoreOptions } from '../../platform/store/store.ts';
export { eventsRecorded } from '../../platform/store/trace.ts';
export { aggregateReader } from '../../query/aggregate.ts';
export type { AggregateRequest } from '../../query/aggregate-request.ts';
export { orderClause, orderKeys } from '../../query/order.ts';
export type { PageRequest } from '../../query/page.ts';
export { anyPageReader, findById } from '../../query/read.ts';
export { conditionOf } from '../../query/where.ts';
export { messages } from '../../wire/messages.ts';
