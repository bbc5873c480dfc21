// examples/multicluster/definitions.yaml: the kinds by which clusters share Services, from their definitions in src/api.
import { dump } from 'js-yaml';

import { definitionsOf } from '../../src/api/definition.ts';
import { kinds } from '../../src/api/kinds/registry.ts';

const header = `# CRDs of the kinds by which clusters share Services, for Kubernetes clusters without them:
#   kubectl apply --server-side -f examples/multicluster/definitions.yaml
# The CRDs of sigs.k8s.io/mcs-api (v1beta1) are sufficient where they are installed; omit those that already exist.
# \`npm run docs\` writes this file.
`;

/** Groups of kinds that have nothing to do with clusters, or whose definitions others publish. */
const others = ['loadbalancer.fairlead.dev', 'gateway.networking.k8s.io'];

/** The content of the file. */
export const definitionsFile = (): string =>
  header +
  definitionsOf(kinds.filter(({ group }) => !others.includes(group)))
    .map((definition) => dump(definition, { lineWidth: -1, noRefs: true }))
    .join('---\n');
