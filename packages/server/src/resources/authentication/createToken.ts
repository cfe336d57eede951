import { v7 as uuidv7 } from 'uuid';
import { tenantMismatch } from '../../auth/directory.ts';
import { accessTokenLifetime, unauthenticated } from '../../auth/tokens.ts';
import type { Handler } from '../../context.ts';

/** Exchanges an API key for an access token that carries the roles of its API user. */
export const createToken: Handler<'createToken'> = async ({ service, tenantName }, { body }) => {
  const { jti, tenant: keyTenant } = await service.tokens.verifyApiKey(body.apiKey);
  if (tenantName !== undefined && tenantName !== keyTenant) throw tenantMismatch();
  const tenant = await service.directory.tenant(keyTenant);
  const key = tenant && (await service.directory.key(tenant.id, jti));
  if (tenant === undefined || key === undefined || !key.usable)
    throw unauthenticated('The API key is revoked or has expired.');
  const claims = { sub: key.apiUserId, client_id: jti, tenant: tenant.name, roles: key.roles, staffId: key.staffId };
  const token = await service.tokens.signAccessToken(claims, uuidv7());
  return {
    status: 200,
    headers: { 'Cache-Control': 'no-store' },
    body: { access_token: token, token_type: 'Bearer', expires_in: accessTokenLifetime },
  };
};
