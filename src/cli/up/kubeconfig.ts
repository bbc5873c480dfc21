import type { KeyPair } from '../../server/pki/issue.ts';

/** The clusters of a kubeconfig, with a user and a certificate for each. */
export interface KubeconfigContent {
  readonly clusters: readonly {
    readonly name: string;
    readonly server: string;
    readonly ca: string;
    readonly pair: KeyPair;
  }[];
  readonly user: string;
}

/**
 * A kubeconfig with one context per cluster, named like it; the first is the current one. Users are `USER@CLUSTER`, since
 * a certificate is for one cluster. It is JSON, which is YAML.
 */
export function kubeconfig({ clusters, user }: KubeconfigContent): string {
  const userAt = (cluster: string): string => `${user}@${cluster}`;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': clusters[0]?.name ?? '',
    clusters: clusters.map(({ name, server, ca }) => ({
      name,
      cluster: { server, 'certificate-authority-data': base64(ca) },
    })),
    contexts: clusters.map(({ name }) => ({ name, context: { cluster: name, user: userAt(name) } })),
    users: clusters.map(({ name, pair }) => ({
      name: userAt(name),
      user: { 'client-certificate-data': base64(pair.cert), 'client-key-data': base64(pair.key) },
    })),
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
