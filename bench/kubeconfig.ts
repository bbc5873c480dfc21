import type { Target } from './client.ts';

/** A kubeconfig for a measured server, without verification of its certificate. */
export const kubeconfigFor = ({ host, port, token }: Target): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'bench',
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
    clusters: [{ name: 'bench', cluster: { server: `https://${host}:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'bench', user: { token } }],
  });
