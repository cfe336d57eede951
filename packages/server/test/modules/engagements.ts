import type { components } from '@financial-automation/spec';
import type { TestCaller, TestService } from '../service.ts';
import { recordsOf } from './records.ts';
import { firmOf } from './staff.ts';

type Schemas = components['schemas'];
export type Engagement = Schemas['Engagement'];
export type Batch = Schemas['EngagementBatch'];
export type EngagementDocument = Schemas['EngagementDocument'];

/** Creates a firm with a partner, a client and a signer, and functions for engagement operations. */
export async function firmWithLetters(service: TestService) {
  const firm = firmOf(service);
  const { make } = recordsOf(service);
  const partnerId = (await firm.person({ firstName: 'Dana', lastName: 'Whitfield' })).id;
  /** Creates a contact who can sign for a client. */
  const signer = async (clientId: string, fields: object = {}): Promise<string> => {
    const { id } = await make('Contact', { firstName: 'Ines', lastName: 'Calder', ...fields });
    await make('ContactClient', { contactId: id, clientId, roles: ['SIGNER'] });
    return id;
  };
  const clientId = await firm.client({ name: 'Harbor & Pine LLC', currency: 'EUR' });
  const signerId = await signer(clientId);
  const calls = callsOf(service);
  const create = async (body: object = {}): Promise<Engagement> => {
    const named = 'clientRef' in body || 'clientId' in body ? {} : { clientId };
    const response = await calls.create({ fiscalYear: 2026, partnerId, ...named, ...body });
    if (response.status !== 201) throw new Error(JSON.stringify(response.body));
    return response.body;
  };
  const change = async (id: string, body: object): Promise<Engagement> => {
    const response = await calls.update(id, body);
    if (response.status !== 200) throw new Error(JSON.stringify(response.body));
    return response.body;
  };
  return {
    ...firm,
    make,
    calls,
    clientId,
    signerId,
    signer,
    partnerId,
    create,
    change,
    /** Creates an engagement and moves it to a status that callers can set. */
    async engagementIn(status: Engagement['status'], body: object = {}): Promise<Engagement> {
      const row = await create({ signerContactIds: [signerId], ...body });
      const signers = row.signers.map(({ contactId }) => ({ contactId }));
      const sign = (signed: string) => ({ signers: signers.map((one) => ({ ...one, status: signed })) });
      const ways: Readonly<Record<string, readonly object[]>> = {
        DRAFT: [],
        SENT: [{ status: 'SENT' }],
        EXECUTED: [{ status: 'SENT' }, sign('SIGNED')],
        ACTIVE: [{ status: 'SENT' }, sign('SIGNED'), { status: 'ACTIVE' }],
        ON_HOLD: [{ status: 'SENT' }, sign('SIGNED'), { status: 'ACTIVE' }, { status: 'ON_HOLD' }],
        COMPLETED: [{ status: 'SENT' }, sign('SIGNED'), { status: 'ACTIVE' }, { status: 'COMPLETED' }],
        DECLINED: [{ status: 'SENT' }, sign('DECLINED')],
        CANCELLED: [{ status: 'CANCELLED' }],
      };
      const steps = ways[status];
      if (steps === undefined) throw new Error(`Callers cannot set the status ${status}.`);
      let reached = row;
      for (const step of steps) reached = await change(row.id, step);
      return reached;
    },
    async documents(id: string): Promise<EngagementDocument[]> {
      const { status, body } = await calls.documents(id);
      if (status !== 200) throw new Error(JSON.stringify(body));
      return body.data;
    },
  };
}

export function callsOf({ call }: TestCaller) {
  return {
    create: (body: object, headers?: Readonly<Record<string, string>>) =>
      call<Engagement>('POST', '/api/v1/engagements/create', body, headers),
    update: (id: string, body: object, headers?: Readonly<Record<string, string>>) =>
      call<Engagement>('PATCH', `/api/v1/engagements/${id}`, body, headers),
    get: (id: string) => call<Engagement>('GET', `/gql/v1/engagement/${id}`),
    list: (body: object = {}) => call<{ data: Engagement[]; total?: number }>('POST', '/gql/v1/engagements', body),
    search: (body: object) => call<{ data: Engagement[] }>('POST', '/gql/v1/engagements/search', body),
    documents: (id: string, query = '') =>
      call<{ data: EngagementDocument[] }>('GET', `/gql/v1/engagement_documents/by_engagement/${id}${query}`),
    createBatch: (engagements: readonly object[], headers?: Readonly<Record<string, string>>) =>
      call<{ batchId: string; status: string; total: number }>(
        'POST',
        '/api/v1/engagements/batch/create',
        { engagements },
        headers,
      ),
    batch: (id: string) => call<Batch>('GET', `/api/v1/engagements/batch/${id}/status`),
  };
}
