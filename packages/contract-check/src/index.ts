import './require-node.ts';

export { check, planOf } from './check.ts';
export { OpenApiDocument, type Place } from './document/document.ts';
export { type Operation, operationsOf } from './document/operation.ts';
export type { Category, Finding } from './finding/finding.ts';
export type { Call, Exchange } from './http/call.ts';
export type { Auth, CheckOptions, Progress } from './run/options.ts';
export type { Report } from './run/report.ts';
export { type Breach, Validators } from './schema/validators.ts';
