// What the multi-cluster controller needs in a cluster that is a member: an account with the least rights, and nothing else.
import { serviceAccountKind } from '../../api/kinds/core/serviceaccount/kind.ts';
import { memberRules } from '../../server/access/rbac/defaults/fairlead.ts';
import { leaseNamespace } from '../../multicluster/lease/lease.ts';
import type { Manifest } from './manifest.ts';
import { accountManifest, grantManifests, installed, namespaceManifest } from './manifest.ts';

/** The account of the controller in a member. */
export const memberAccount = 'fairlead-member';

/** The objects of the account, in the order in which they are created. */
export function memberAccess(namespace: string): readonly Manifest[] {
  const account = { namespace, name: memberAccount };
  return [
    namespaceManifest(namespace),
    accountManifest(account),
    ...grantManifests({ name: memberAccount, rules: memberRules, account }),
    // The leases of source clusters.
    ...grantManifests({
      name: memberAccount,
      namespace: leaseNamespace,
      account,
      rules: [
        {
          apiGroups: ['coordination.k8s.io'],
          resources: ['leases'],
          verbs: ['get', 'list', 'watch', 'create', 'update', 'delete'],
        },
      ],
    }),
    // The controller may renew its own token, and no other.
    ...grantManifests({
      name: memberAccount,
      namespace,
      account,
      rules: [
        {
          apiGroups: [serviceAccountKind.group],
          resources: [`${serviceAccountKind.plural}/token`],
          resourceNames: [memberAccount],
          verbs: ['create'],
        },
      ],
    }),
  ].map((manifest) => installed(manifest, 'member'));
}
