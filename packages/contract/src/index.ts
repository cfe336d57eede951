export { OpenApiDocument, type Place } from './document/document.ts';
export { type Operation, operationsOf } from './document/operation.ts';
export { type Breach, Validators } from './schema/validators.ts';
