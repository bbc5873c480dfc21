// What the server writes into the status of a CustomResourceDefinition.

import type { Kind } from '../../../kind.ts';
import { equalJson } from '../../../schema/equal-json.ts';
import { structuralErrors } from '../../../structural/structural-errors.ts';
import { joinErrors } from '../../../field-errors.ts';
import { approvalCondition } from './approval.ts';
import { conditionOf, isEstablished, withCondition } from './conditions.ts';
import { nativeConflict } from './native.ts';
import type { CrdCondition, CrdNames, CustomResourceDefinition } from './schema.ts';

/** The names that other definitions of the same group have. */
export interface TakenNames {
  /** Whether one has it as plural, singular or short name. */
  readonly hasResource: (name: string) => boolean;
  /** Whether one has it as kind of its objects or lists. */
  readonly hasKind: (name: string) => boolean;
}

/** The other definitions of the same group, and the kinds of the server itself. */
export interface Surroundings {
  readonly taken: TakenNames;
  readonly own: readonly Kind[];
  /** The time in RFC 3339. */
  readonly now: string;
}

/** The definition with the status that it must have; the same object if nothing changes. */
export function planStatus(crd: CustomResourceDefinition, surroundings: Surroundings): CustomResourceDefinition {
  if (crd.metadata.deletionTimestamp !== undefined) return crd;
  const { now } = surroundings;
  const { names, condition } = acceptNames(crd, surroundings);
  let next: CustomResourceDefinition = equalJson(names, crd.status.acceptedNames)
    ? crd
    : { ...crd, status: { ...crd.status, acceptedNames: names } };
  for (const each of [
    approvalCondition(crd),
    condition,
    establishedCondition(crd, condition),
    structureCondition(crd),
  ]) {
    if (each !== undefined && !isSame(conditionOf(next, each.type), each)) next = withCondition(next, each, now);
  }
  return structureCondition(crd) === undefined ? withoutCondition(next, nonStructural) : next;
}

const isSame = (old: CrdCondition | undefined, { status, reason, message }: CrdCondition): boolean =>
  old?.status === status && old.reason === reason && old.message === message;

const nonStructural = 'NonStructuralSchema';

function withoutCondition(crd: CustomResourceDefinition, type: string): CustomResourceDefinition {
  if (conditionOf(crd, type) === undefined) return crd;
  const conditions = (crd.status.conditions ?? []).filter((condition) => condition.type !== type);
  return { ...crd, status: { ...crd.status, conditions } };
}

/** Names that are not accepted keep their old value, and the condition has the reason. */
function acceptNames(
  crd: CustomResourceDefinition,
  { taken, own }: Surroundings,
): { readonly names: CrdNames; readonly condition: CrdCondition } {
  const { names: requested } = crd.spec;
  const accepted = crd.status.acceptedNames;
  let conflict: Pick<CrdCondition, 'reason' | 'message'> | undefined;
  const native = nativeConflict(crd, own);
  const { singular = '', listKind = '', shortNames, categories } = requested;
  const pick = (name: 'plural' | 'singular' | 'kind' | 'listKind'): string => {
    const [wanted, before] = [requested[name] ?? '', accepted[name] ?? ''];
    const isTaken = name === 'kind' || name === 'listKind' ? taken.hasKind(wanted) : taken.hasResource(wanted);
    if (wanted === before || !isTaken) return wanted;
    conflict = { reason: `${capital(name)}Conflict`, message: `${JSON.stringify(wanted)} is already in use` };
    return before;
  };
  const ownShortNames = new Set(accepted.shortNames);
  const missing = (shortNames ?? []).filter((name) => !ownShortNames.has(name) && taken.hasResource(name));
  const plural = pick('plural');
  const acceptedSingular = singular === '' ? '' : pick('singular');
  if (missing.length > 0) {
    const list = missing.map((name) => `${JSON.stringify(name)} is already in use`).join(', ');
    conflict = { reason: 'ShortNamesConflict', message: missing.length === 1 ? list : `[${list}]` };
  }
  const chosenShortNames = missing.length > 0 ? accepted.shortNames : shortNames;
  const kind = pick('kind');
  const acceptedListKind = listKind === '' ? '' : pick('listKind');
  if (native !== undefined) conflict = { reason: 'ServedByTheServer', message: native };
  const found = conflict;
  return {
    names: {
      plural,
      ...(acceptedSingular === '' ? {} : { singular: acceptedSingular }),
      ...(chosenShortNames === undefined ? {} : { shortNames: chosenShortNames }),
      kind,
      ...(acceptedListKind === '' ? {} : { listKind: acceptedListKind }),
      ...(categories === undefined ? {} : { categories }),
    },
    condition: {
      type: 'NamesAccepted',
      status: found === undefined ? 'True' : 'False',
      reason: found?.reason ?? 'NoConflicts',
      message: found?.message ?? 'no conflicts found',
    },
  };
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** Once established, a definition stays so: objects exist. */
function establishedCondition(crd: CustomResourceDefinition, names: CrdCondition): CrdCondition | undefined {
  if (isEstablished(crd)) return undefined;
  const isAccepted = names.status === 'True';
  return {
    type: 'Established',
    status: isAccepted ? 'True' : 'False',
    reason: isAccepted ? 'InitialNamesAccepted' : 'NotAccepted',
    message: isAccepted ? 'the initial names have been accepted' : 'not all names are accepted',
  };
}

/** The condition of a schema that another program stored: this server accepts structural schemas only. */
function structureCondition({ spec }: CustomResourceDefinition): CrdCondition | undefined {
  const errors = (spec.versions ?? []).flatMap(({ schema }, index) =>
    schema?.openAPIV3Schema === undefined
      ? []
      : structuralErrors(schema.openAPIV3Schema, `spec.versions[${index}].schema.openAPIV3Schema`),
  );
  if (errors.length === 0) return undefined;
  return { type: nonStructural, status: 'True', reason: 'Violations', message: joinErrors(errors) };
}
