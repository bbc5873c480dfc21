/** On a Service: `v1` or `v2`, the version of the PROXY protocol that its endpoints expect. */
export const proxyProtocolAnnotation = 'proxy.fairlead.dev/proxy-protocol';
