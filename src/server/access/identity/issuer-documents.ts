import type { ServiceAccountTokens } from './service-account-tokens.ts';
import type { Reply } from '../../reply.ts';

const configurationPath = '/.well-known/openid-configuration';
const keysPath = '/openid/v1/jwks';

/** The paths of the OpenID Connect discovery documents, with which others verify tokens of this server. */
export const issuerPaths: readonly string[] = [configurationPath, keysPath];

/** The document at a path; undefined for other paths. `address` is `host:port` as clients reach this server. */
export async function issuerReply(
  path: string,
  tokens: ServiceAccountTokens,
  address: string,
): Promise<Reply | undefined> {
  if (path === configurationPath) return publicReply('application/json', configuration(tokens.issuer, address));
  if (path !== keysPath) return undefined;
  await tokens.keys.refresh();
  return publicReply('application/jwk-set+json', { keys: tokens.keys.all().map(publicJwk) });
}

const configuration = (issuer: string, address: string): object => ({
  issuer,
  jwks_uri: `https://${address}${keysPath}`,
  response_types_supported: ['id_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256'],
});

function publicJwk({ kid, publicKey }: ReturnType<ServiceAccountTokens['keys']['all']>[number]): object {
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  return { use: 'sig', kty, kid, crv, alg: 'ES256', x, y };
}

const publicReply = (type: string, document: object): Reply => ({
  status: 200,
  headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=3600' },
  body: JSON.stringify(document),
});
