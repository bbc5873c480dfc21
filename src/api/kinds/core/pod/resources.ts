// Compute resources of containers and Pods.
import { always, listMap, map, optional, pointer, quantity, string, struct } from '../../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

const resourceClaim = struct(`${core}.ResourceClaim`, 'Refers to an entry of the Pod’s resourceClaims.', {
  name: always(1, string, 'Name of the entry.', { required: true }),
  request: optional(2, string, 'One request of the claim; empty for all.'),
});

export const resourceRequirements = struct(
  `${core}.ResourceRequirements`,
  'Requests and limits of compute resources.',
  {
    limits: optional(1, map(quantity), 'Maximum.'),
    requests: optional(2, map(quantity), 'Minimum, for scheduling; default: the limits.'),
    claims: optional(3, listMap(resourceClaim, ['name']), 'Claims that are used, by name.'),
  },
);

export const containerResizePolicy = struct(
  `${core}.ContainerResizePolicy`,
  'Policy for resizing a resource of a container.',
  {
    resourceName: always(1, string, 'The resource.', { required: true }),
    restartPolicy: always(2, string, 'Whether the container is restarted.', { required: true }),
  },
);

export const podResourceClaim = struct(`${core}.PodResourceClaim`, 'A claim that containers of the Pod may use.', {
  name: always(1, string, 'Name of the claim inside the Pod.', { required: true }),
  resourceClaimName: pointer(3, string, 'An existing ResourceClaim.'),
  resourceClaimTemplateName: pointer(4, string, 'A template from which a claim is made for this Pod.'),
});
