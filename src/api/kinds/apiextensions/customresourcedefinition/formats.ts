import { formatCheck } from '../../../structural/formats.ts';
import { everySchema } from '../../../structural/walk.ts';
import type { CustomResourceDefinition } from './schema.ts';

/** The formats of strings in the schemas that are not checked. */
export const unknownFormats = ({ spec }: CustomResourceDefinition): readonly string[] => [
  ...new Set(
    (spec.versions ?? []).flatMap(({ schema }) =>
      everySchema(schema?.openAPIV3Schema).flatMap(({ type, format = '' }) =>
        type === 'string' && format !== '' && formatCheck(format) === undefined ? [format] : [],
      ),
    ),
  ),
];
