import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required } from '../../../field-errors.ts';
import { isRequestUri } from '../../../structural/formats.ts';
import type { CrdCondition, CustomResourceDefinition } from './schema.ts';

const annotation = 'api-approved.kubernetes.io';
const needed = `protected groups must have approval annotation "${annotation}"`;
const proposal = 'see https://github.com/kubernetes/enhancements/pull/1111';

/** Groups of the Kubernetes community, whose definitions must be approved. */
const isProtected = (group: string): boolean =>
  ['k8s.io', 'kubernetes.io'].some((suffix) => group === suffix || group.endsWith(`.${suffix}`));

type Approval = 'missing' | 'bypassed' | 'approved' | 'invalid';

function approvalOf(text: string): Approval {
  if (text === '') return 'missing';
  if (text.startsWith('unapproved')) return 'bypassed';
  return isRequestUri(text) && URL.canParse(text) && new URL(text).host !== '' ? 'approved' : 'invalid';
}

/** The errors of the annotation by which definitions in groups of the Kubernetes community are approved. */
export function approvalErrors(
  { metadata, spec }: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): FieldError[] {
  if (!isProtected(spec.group)) return [];
  const text = metadata.annotations?.[annotation] ?? '';
  const approval = approvalOf(text);
  if (old !== undefined && approvalOf(old.metadata.annotations?.[annotation] ?? '') === approval) return [];
  const path = `metadata.annotations[${annotation}]`;
  if (approval === 'missing') return [required(path, `${needed}, ${proposal}`)];
  if (approval !== 'invalid') return [];
  return [invalidValue(path, text, `${needed} with either a URL or a reason starting with "unapproved", ${proposal}`)];
}

/** The condition about the approval; undefined for groups that need none. */
export function approvalCondition({ metadata, spec }: CustomResourceDefinition): CrdCondition | undefined {
  if (!isProtected(spec.group)) return undefined;
  const text = metadata.annotations?.[annotation] ?? '';
  const condition = (status: string, reason: string, message: string): CrdCondition => ({
    type: 'KubernetesAPIApprovalPolicyConformant',
    status,
    reason,
    message,
  });
  switch (approvalOf(text)) {
    case 'missing':
      return condition('False', 'MissingAnnotation', `${needed}, ${proposal}`);
    case 'bypassed':
      return condition('False', 'UnapprovedAnnotation', `not approved: ${JSON.stringify(text)}`);
    case 'approved':
      return condition('True', 'ApprovedAnnotation', `approved in ${text}`);
    case 'invalid':
      return condition(
        'False',
        'InvalidAnnotation',
        `${needed} with either a URL or a reason starting with "unapproved", ${proposal}`,
      );
  }
}
