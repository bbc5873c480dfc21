import type { Kind } from '../../api/kind.ts';
import { eventKind } from '../../api/kinds/core/event/kind.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Evaluator } from './evaluator.ts';
import { podEvaluator } from './pods.ts';
import { serviceEvaluator } from './services.ts';

/** Kinds whose objects are counted without `count/` too. */
const aliases = new Set(['configmaps', 'secrets', 'resourcequotas', 'replicationcontrollers']);

const evaluators = new WeakMap<Kind, Evaluator>();

/** How objects of a kind are counted; undefined: they never are, as in Kubernetes. */
export function evaluatorOf(kind: Kind): Evaluator | undefined {
  if (!kind.namespaced || kind === eventKind) return undefined;
  if (kind === serviceKind) return serviceEvaluator;
  if (kind === podKind) return podEvaluator;
  return evaluators.getOrInsertComputed(kind, () => {
    const names = new Set([countName(kind), ...(aliases.has(countedAs(kind)) ? [kind.plural] : [])]);
    return { counts: (name) => names.has(name) };
  });
}

const countedAs = ({ group, plural }: Kind): string => (group === '' ? plural : `${plural}.${group}`);

/** The name under which all objects of a kind are counted. */
const countName = (kind: Kind): string => `count/${countedAs(kind)}`;
