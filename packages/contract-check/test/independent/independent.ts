import { fileURLToPath } from 'node:url';
import { check } from '../../src/check.ts';
import type { CheckOptions } from '../../src/run/options.ts';
import type { Report } from '../../src/run/report.ts';
import { drifts as fleetDrifts } from './fleet/drifts.mjs';
import * as fleet from './fleet/server.mjs';
import { drifts as labDrifts } from './lab/drifts.ts';
import { auth as labAuth, start as startLab } from './lab/server.ts';
import { strangers } from './strangers/strangers.ts';
import { drifts as ticketsDrifts } from './tickets/drifts.mjs';
import * as tickets from './tickets/server.mjs';

export const suites = {
  fleet: { ...fleet, drifts: fleetDrifts, spec: specificationOf('fleet') },
  lab: { start: startLab, auth: labAuth, drifts: labDrifts, spec: specificationOf('lab') },
  tickets: { ...tickets, drifts: ticketsDrifts, spec: specificationOf('tickets') },
  ...strangers,
} as const;

export type Suite = keyof typeof suites;

/** The file of the contract of a suite with a folder of its own. */
export function specificationOf(suite: string): string {
  return fileURLToPath(new URL(`${suite}/openapi.yaml`, import.meta.url));
}

/** Checks a server of a suite, with one of its drifts or none. */
export async function checkOne(suite: Suite, drift?: string, options: Partial<CheckOptions> = {}): Promise<Report> {
  const { start, auth, spec } = suites[suite];
  const server = await start(drift);
  try {
    return await check({ spec, url: server.url, auth, disposable: true, ...options });
  } finally {
    await server.stop();
  }
}
