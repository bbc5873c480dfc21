const protocolPrefix = 'base64url.bearer.authorization.k8s.io.';

/** The token of an `Authorization` header, read as Kubernetes does; undefined when there is none, or another scheme. */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const [scheme = '', token = ''] = authorization.trim().split(' ', 2);
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}

/** The token that a browser's WebSocket, which cannot set headers, brings as a subprotocol. */
export function protocolToken(protocols: string | undefined): string | undefined {
  if (protocols === undefined) return undefined;
  const offered = protocols.split(',').map((protocol) => protocol.trim());
  const encoded = offered.find((protocol) => protocol.startsWith(protocolPrefix))?.slice(protocolPrefix.length);
  if (encoded === undefined || !/^[\w-]+$/.test(encoded)) return undefined;
  return Buffer.from(encoded, 'base64url').toString();
}
