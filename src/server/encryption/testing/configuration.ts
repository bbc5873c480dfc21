// EncryptionConfigurations for tests.

/** A key of 32 equal bytes. */
export const keyOf = (name: string, byte: number, length = 32): object => ({
  name,
  secret: Buffer.alloc(length, byte).toString('base64'),
});

/** A configuration of `resources` with these providers. */
export const configurationOf = (providers: readonly object[], resources: readonly string[] = ['secrets']): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources, providers }],
  });

export const aesgcm = (...keys: readonly object[]): object => ({ aesgcm: { keys } });
export const aescbc = (...keys: readonly object[]): object => ({ aescbc: { keys } });
export const secretbox = (...keys: readonly object[]): object => ({ secretbox: { keys } });
export const identity = { identity: {} };
