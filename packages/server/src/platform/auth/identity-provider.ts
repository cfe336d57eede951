import type { Configuration } from 'openid-client';

/** Who may sign people in, by OpenID Connect, and what its claims are called. */
export interface IdentityProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a client that only proves itself by PKCE. */
  readonly clientSecret: string | undefined;
  readonly scope: string;
  /** The claim with the name of a person's tenant, or the names of several. */
  readonly tenantClaim: string;
  /** The claim with a person's roles. */
  readonly rolesClaim: string;
}

/** What the browser that starts a sign-in keeps until it ends, so that no other can end it. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** What the provider says of a person. `iss` and `sub` identify it forever; everything else can change. */
export interface Claims {
  readonly [name: string]: unknown;
  readonly iss: string;
  readonly sub: string;
}

/** Who has signed in, and the ID token that says so. */
export interface SignedIn {
  readonly claims: Claims;
  readonly idToken: string;
}

/** How long the provider may take to respond, in seconds. */
const timeout = 10;

/** Signs people in by the authorization code flow with PKCE. */
export class IdentityProvider {
  readonly settings: IdentityProviderSettings;
  #configuration: Promise<Configuration> | undefined;

  constructor(settings: IdentityProviderSettings) {
    this.settings = settings;
  }

  /**
   * @param returnUrl where the provider sends the browser afterwards
   * @returns where the browser goes first
   * @throws Error if the provider cannot be reached
   */
  async start(returnUrl: string): Promise<{ readonly url: string; readonly attempt: SignInAttempt }> {
    const client = await import('openid-client');
    const configuration = await this.#discovered();
    const codeVerifier = client.randomPKCECodeVerifier();
    const attempt = { state: client.randomState(), nonce: client.randomNonce(), codeVerifier };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: returnUrl,
      scope: this.settings.scope,
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, attempt };
  }

  /**
   * @param url with the parameters that the provider has added
   * @throws Error if they are not those of the attempt, or the provider rejects the code
   */
  async finish(url: URL, { state, nonce, codeVerifier }: SignInAttempt): Promise<SignedIn> {
    const client = await import('openid-client');
    const configuration = await this.#discovered();
    const tokens = await client.authorizationCodeGrant(configuration, url, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    const { id_token: idToken, access_token: accessToken } = tokens;
    if (claims === undefined || idToken === undefined) throw new Error('The identity provider sent no ID token.');
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return { claims, idToken };
    // Many providers have only few claims in the token.
    const more = await client.fetchUserInfo(configuration, accessToken, claims.sub);
    return { claims: { ...more, ...claims }, idToken };
  }

  /**
   * @param idToken of the session, or empty: then the provider asks the person
   * @param returnUrl where the provider sends the browser afterwards
   * @returns where the browser ends its session at the provider; undefined if the provider has no such page
   */
  async endSessionUrl(idToken: string, returnUrl: string): Promise<string | undefined> {
    const client = await import('openid-client');
    const configuration = await this.#discovered();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    const hint = idToken === '' ? {} : { id_token_hint: idToken };
    return client.buildEndSessionUrl(configuration, { ...hint, post_logout_redirect_uri: returnUrl }).href;
  }

  /** Read once; again after a failure, so that the service also starts while the provider is down. */
  #discovered(): Promise<Configuration> {
    this.#configuration ??= this.#discover().catch((error: unknown) => {
      this.#configuration = undefined;
      throw error;
    });
    return this.#configuration;
  }

  async #discover(): Promise<Configuration> {
    const client = await import('openid-client');
    const { issuer, clientId, clientSecret } = this.settings;
    const authentication = clientSecret === undefined ? client.None() : client.ClientSecretBasic(clientSecret);
    return client.discovery(new URL(issuer), clientId, undefined, authentication, {
      timeout,
      // For tests: settings accept it on this machine only.
      execute: issuer.startsWith('http:') ? [client.allowInsecureRequests] : [],
    });
  }
}
