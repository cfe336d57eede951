/** Settings of a tenant, other than its currency and time zone. */
export interface TenantSettings {
  readonly hourIncrement: '0.10' | '0.25';
  readonly timeApproval: boolean;
  readonly selfApproval: boolean;
  readonly reviewCompletedJobs: boolean;
  readonly wipEvents: boolean;
  readonly deliveryPorts: readonly number[];
  readonly allowedAddresses: readonly string[];
  readonly allowedClientIds: readonly string[];
}

/** The API user of a request, identified by its access token. */
export interface Caller {
  readonly apiUserId: string;
  readonly apiUserName: string;
  readonly roles: ReadonlySet<string>;
  readonly staffId: string | null;
}

/** The tenant of a request, as its operator configured it. */
export interface Tenant {
  readonly id: number;
  readonly name: string;
  readonly currency: string;
  /** IANA time zone that determines business days, including "today". */
  readonly timeZone: string;
  readonly settings: TenantSettings;
  /** Whether it has a clock of its own, ahead of the real one, for tests. */
  readonly isSandbox: boolean;
}
