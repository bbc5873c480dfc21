import { always, listMap, optional, string, struct, time } from '../../schema/schema.ts';

/** What DaemonSets, ReplicaSets and StatefulSets say of their state. A Deployment's conditions have one field more. */
export const workloadConditions = (number: number, kind: 'DaemonSet' | 'ReplicaSet' | 'StatefulSet') =>
  optional(number, listMap(conditionOf(kind), ['type'], { mergeKey: 'type' }), `State of the ${kind}.`);

const conditionOf = (kind: string) =>
  struct(`io.k8s.api.apps.v1.${kind}Condition`, `One aspect of a ${kind}’s state.`, {
    type: always(1, string, 'Which aspect.', { required: true }),
    status: always(2, string, 'True, False or Unknown.', { required: true }),
    lastTransitionTime: always(3, time, 'When the status last changed.'),
    reason: optional(4, string, 'Why, in one word.'),
    message: optional(5, string, 'Why, for a person.'),
  });
