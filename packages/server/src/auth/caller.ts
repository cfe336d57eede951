import type { TenantSettings } from './tenant-settings.ts';

/** The API user of a call, identified by its access token. */
export interface Caller {
  readonly apiUserId: string;
  readonly apiUserName: string;
  readonly roles: ReadonlySet<string>;
  readonly staffId: string | null;
}

/** The tenant of a call, as its operator configured it. */
export interface Tenant {
  readonly id: number;
  readonly name: string;
  readonly currency: string;
  /** An IANA time zone. Business days, "today" included, are days in this zone. */
  readonly timeZone: string;
  readonly settings: TenantSettings;
}
