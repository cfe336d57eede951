import { expect, test } from 'vitest';
import { fileNames } from './path-file.ts';

test('the name of a file follows from its path', () => {
  const names = {
    '/v1/auth/token': 'auth_token',
    '/v1/task-types': 'task_types',
    '/gql/v1/client/{id}': 'client',
    '/api/v1/clients/v1/link/payment': 'clients_link_payment',
    '/gql/v1/contacts/by_client/{clientId}': 'contacts_by_client',
    '/gql/v1/staff': 'staff',
    '/gql/v1/staff/{id}': 'staff_id',
    '/api/v1/staff': 'api_staff',
    '/api/v1/staff/{staffId}': 'api_staff_id',
    '/gql/v1/wip': 'wip',
    '/gql/v1/wip/{id}': 'wip_id',
    '/gql/v1/engagement/{id}': 'engagement',
    '/api/v1/engagements/{engagementId}': 'api_engagement',
    '/api/v1/engagements/batch/{batchId}/status': 'engagements_batch_status',
    '/api/v1/records/custom': 'records_custom',
    '/api/v1/records/custom/{name}': 'records_custom_name',
    '/api/v1/event-subscriptions/{id}/deliveries': 'event_subscription_deliveries',
    '/api/v1/files/{id}': 'file',
  };
  expect(Object.fromEntries(fileNames(Object.keys(names)))).toEqual(names);
});
