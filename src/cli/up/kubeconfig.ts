import type { KeyPair } from '../../server/pki/issue.ts';

/** What a kubeconfig says: where the clusters are and who connects. */
export interface KubeconfigContent {
  readonly clusters: readonly { readonly name: string; readonly server: string }[];
  readonly ca: string;
  readonly user: KeyPair & { readonly name: string };
}

/** A kubeconfig with one context per cluster, named like it; the first is the current one. It is JSON, which is YAML. */
export function kubeconfig({ clusters, ca, user }: KubeconfigContent): string {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': clusters[0]?.name ?? '',
    clusters: clusters.map(({ name, server }) => ({
      name,
      cluster: { server, 'certificate-authority-data': base64(ca) },
    })),
    contexts: clusters.map(({ name }) => ({ name, context: { cluster: name, user: user.name } })),
    users: [
      {
        name: user.name,
        user: { 'client-certificate-data': base64(user.cert), 'client-key-data': base64(user.key) },
      },
    ],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
