import { column, labelsText, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always } from '../../../schema/schema.ts';
import { podSpecDefaults } from '../pod/defaults.ts';
import { podTemplateSpec } from '../pod/spec.ts';
import { podTemplateErrors } from '../pod/validate.ts';

const podTemplate = objectSchema(
  'io.k8s.api.core.v1.PodTemplate',
  'A stored template of Pods. No controller uses it.',
  { template: always(2, podTemplateSpec, 'The template of the Pods.') },
);

export type PodTemplate = Infer<typeof podTemplate>;

export const podTemplateKind = defineKind<PodTemplate>({
  group: '',
  version: 'v1',
  kind: 'PodTemplate',
  plural: 'podtemplates',
  namespaced: true,
  schema: podTemplate,
  generation: 'content',
  deleteReturns: 'object',
  columns: [
    nameColumn,
    column('Containers', 'Names of the containers.', ({ template }) =>
      (template.spec.containers ?? []).map(({ name }) => name).join(','),
    ),
    column('Images', 'Images of the containers.', ({ template }) =>
      (template.spec.containers ?? []).map(({ image }) => image ?? '').join(','),
    ),
    column('Pod Labels', 'Labels of the Pods.', ({ template }) => labelsText(template.metadata.labels)),
  ],
  applyDefaults: (object) => ({
    ...object,
    template: { ...object.template, spec: podSpecDefaults(object.template.spec) },
  }),
  validateCreate: ({ template }) => podTemplateErrors(template, 'template'),
  validateUpdate: ({ template }) => podTemplateErrors(template, 'template'),
});
