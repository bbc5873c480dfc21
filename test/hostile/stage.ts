import { randomBytes } from 'node:crypto';

import type { HostileRequest, Outcome, ServerTarget } from './client.ts';
import { HostileServer } from './client.ts';
import { definition } from './work/custom-kinds.ts';

/** A namespace of a server with two users: one attacks, the other measures. It is deleted with its owner. */
export interface Stage extends AsyncDisposable {
  readonly namespace: string;
  readonly admin: HostileServer;
  readonly attacker: ServerTarget;
  readonly bystander: ServerTarget;
  /** Deletes the objects that a case left in the namespace of the attacker. */
  clear(): Promise<void>;
}

const users = ['attacker', 'bystander'] as const;

/** Creates the namespace, the users with their rights and tokens, and the objects of the bystander. */
export async function openStage(target: ServerTarget): Promise<Stage> {
  const admin = new HostileServer(target);
  const namespace = `hostile-${randomBytes(4).toString('hex')}`;
  const within = `/api/v1/namespaces/${namespace}`;
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const apiGroup = 'rbac.authorization.k8s.io';
  const make = (path: string, body: object): Promise<Outcome> => ask(admin, { method: 'POST', path, body: json(body) });

  await make('/api/v1/namespaces', { metadata: { name: namespace } });
  await make(definitions, definition);
  await make(`${rbac}/roles`, {
    metadata: { name: 'hostile' },
    rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
  });
  await make(`${rbac}/rolebindings`, {
    metadata: { name: 'hostile' },
    subjects: users.map((name) => ({ kind: 'ServiceAccount', name, namespace })),
    roleRef: { kind: 'Role', name: 'hostile', apiGroup },
  });
  const tokens = await Promise.all(
    users.map(async (name) => {
      await make(`${within}/serviceaccounts`, { metadata: { name } });
      const { text } = await make(`${within}/serviceaccounts/${name}/token`, { spec: { expirationSeconds: 7200 } });
      return (JSON.parse(text) as { readonly status: { readonly token: string } }).status.token;
    }),
  );
  await make(`${within}/configmaps`, { metadata: { name: 'bystander' }, data: {} });
  await make(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, {
    metadata: { name: 'bystander' },
    spec: { holderIdentity: 'bystander', leaseDurationSeconds: 15 },
  });

  const { cert: _, key: __, ...server } = target;
  const as = (token: string | undefined): ServerTarget => ({ ...server, ...(token === undefined ? {} : { token }) });
  return {
    namespace,
    admin,
    attacker: as(tokens[0]),
    bystander: as(tokens[1]),
    clear: () => clear(admin, namespace),
    async [Symbol.asyncDispose]() {
      await admin.send({ method: 'DELETE', path: `${definitions}/${definition.metadata.name}` });
      await admin.send({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` });
      admin[Symbol.dispose]();
    },
  };
}

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Collections that cases write to. Names of their objects begin with `hostile`. */
export const collections = {
  configmaps: (namespace: string) => `/api/v1/namespaces/${namespace}/configmaps`,
  services: (namespace: string) => `/api/v1/namespaces/${namespace}/services`,
  pods: (namespace: string) => `/api/v1/namespaces/${namespace}/pods`,
  serviceaccounts: (namespace: string) => `/api/v1/namespaces/${namespace}/serviceaccounts`,
  endpointslices: (namespace: string) => `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
  longs: (namespace: string) => `/apis/hostile.example.org/v1/namespaces/${namespace}/longs`,
  ingresses: (namespace: string) => `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`,
} as const;

const mergePatch = 'application/merge-patch+json';

async function clear(admin: HostileServer, namespace: string): Promise<void> {
  const selector = 'labelSelector=hostile';
  for (const path of Object.values(collections)) {
    await admin.send({ method: 'DELETE', path: `${path(namespace)}?${selector}` });
    const hostile = `${path(namespace)}/hostile`;
    await admin.send({ method: 'PATCH', path: hostile, type: mergePatch, body: '{"metadata":{"finalizers":null}}' });
    await admin.send({ method: 'DELETE', path: hostile });
  }
}

/** Sends a request that must succeed. */
async function ask(server: HostileServer, request: HostileRequest): Promise<Outcome> {
  const outcome = await server.send(request);
  if (outcome.status >= 200 && outcome.status < 300) return outcome;
  throw new Error(`${request.method} ${request.path}: ${outcome.status} ${outcome.text.slice(0, 500)}`);
}

const json = (value: object): string => JSON.stringify(value);
