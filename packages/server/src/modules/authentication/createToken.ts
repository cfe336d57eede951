import { checkAccess } from '../../admission/access.ts';
import { tenantMismatch } from '../../admission/directory.ts';
import { accessTokenLifetime } from '../../admission/tokens.ts';
import { unauthenticated } from '../../contract/problem.ts';
import type { Handler } from '../../entity/context.ts';
import { newId } from '../../platform/store/new-id.ts';

/** Exchanges an API key for an access token with the roles of its API user. The rate limit of the key applies. */
export const createToken: Handler<'createToken'> = async (context, { body }) => {
  const { service, operation, tenantName, address } = context;
  const { jti, tenant: keyTenant } = await service.tokens.verifyApiKey(body.apiKey, () =>
    service.admission.failureLimit.check(address),
  );
  const tenant = await service.directory.tenant(keyTenant);
  if (tenantName !== undefined && tenantName !== keyTenant && tenantName !== tenant?.name) throw tenantMismatch();
  const key = tenant && (await service.directory.key(tenant.id, jti));
  if (tenant !== undefined && key !== undefined) context.identify(tenant.name, key.apiUserName);
  if (tenant === undefined || key === undefined || !key.usable)
    throw unauthenticated('The API key has been revoked or has expired.');
  // Before the rate limit: calls from elsewhere with a stolen key must not use up the limit of its owner.
  checkAccess(tenant, context);
  const limits = await service.admission.rateLimit.take(operation, `${tenant.id}/${jti}`);
  const claims = { sub: key.apiUserId, client_id: jti, tenant: keyTenant, roles: key.roles, staffId: key.staffId };
  const token = await service.tokens.signAccessToken(claims, newId());
  await service.directory.markUsed(tenant.id, jti, key).catch((error: unknown) => {
    service.log.warn({ err: error }, 'Recording the last use of an API key failed.');
  });
  return {
    status: 200,
    headers: { 'Cache-Control': 'no-store', ...limits },
    body: { access_token: token, token_type: 'Bearer', expires_in: accessTokenLifetime },
  };
};
