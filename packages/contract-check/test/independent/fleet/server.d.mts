import type { Auth } from '../../../src/run/options.ts';

export declare const auth: Auth;
export declare function start(drift?: string): Promise<{ readonly url: string; stop(): Promise<void> }>;
