// The objects of a member in the cluster of the controller.
import { kubeconfigKey } from '../../api/kinds/multicluster/clustermember/kind.ts';
import type { MemberSettings } from '../../multicluster/member/entry.ts';
import type { Manifest } from '../install/manifest.ts';
import { installed } from '../install/manifest.ts';
import type { Hub } from './hub.ts';

/** On a ClusterMember: the context of the kubeconfig by which it was joined, with which `leave` removes the account. */
export const contextAnnotation = 'fairlead.dev/context';

/** The Secret of a member. */
export const secretManifest = ({ namespace }: Hub, id: string, kubeconfig: string): Manifest =>
  installed(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: secretName(id), namespace },
      type: 'Opaque',
      data: { [kubeconfigKey]: Buffer.from(kubeconfig).toString('base64') },
    },
    'multicluster',
  );

const secretName = (id: string): string => `member-${id}`;

/** The ClusterMember; `context` is that by which it was joined. */
export const memberManifest = (
  { namespace }: Hub,
  {
    id,
    context,
    labels,
    settings,
  }: {
    readonly id: string;
    readonly context: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly settings: MemberSettings;
  },
): Manifest =>
  installed(
    {
      apiVersion: 'multicluster.fairlead.dev/v1alpha1',
      kind: 'ClusterMember',
      metadata: {
        name: id,
        namespace,
        ...(labels === undefined ? {} : { labels }),
        ...(context === undefined ? {} : { annotations: { [contextAnnotation]: context } }),
      },
      spec: { secretRef: { name: secretName(id) }, ...settings },
    },
    'multicluster',
  );
