export { advanceSandboxClock } from './advanceSandboxClock.ts';
export { getSandboxClock } from './getSandboxClock.ts';
