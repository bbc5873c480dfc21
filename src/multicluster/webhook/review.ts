// AdmissionReview v1 for exports. The response always allows.
import { isJsonObject } from '../../api/schema/json-object.ts';
import { audienceAnnotation } from '../../api/kinds/multicluster/audience.ts';
import type { ServiceKey } from '../record.ts';

/** The creation of an export. */
export interface ExportReview extends ServiceKey {
  readonly uid: string;
  readonly apiVersion: string;
  readonly operation: string;
  readonly dryRun: boolean;
  /** The audience of the export; undefined: all clusters. */
  readonly audience: string | undefined;
}

/** Parses a request; undefined: it is invalid. */
export function readReview(body: unknown): ExportReview | undefined {
  if (!isJsonObject(body) || body['kind'] !== 'AdmissionReview' || !isJsonObject(body['request'])) return undefined;
  const { apiVersion, request } = body;
  const { uid, operation, namespace, name, dryRun, object } = request;
  const fields = [apiVersion, uid, operation, namespace, name];
  if (!fields.every((field) => typeof field === 'string')) return undefined;
  const [version = '', id = '', verb = '', space = '', called = ''] = fields;
  return {
    apiVersion: version,
    uid: id,
    operation: verb,
    namespace: space,
    name: called,
    dryRun: dryRun === true,
    audience: audienceIn(object),
  };
}

function audienceIn(object: unknown): string | undefined {
  const metadata = isJsonObject(object) ? object['metadata'] : undefined;
  const annotations = isJsonObject(metadata) ? metadata['annotations'] : undefined;
  const audience = isJsonObject(annotations) ? annotations[audienceAnnotation] : undefined;
  return typeof audience === 'string' ? audience : undefined;
}

/** The response: allowed, with warnings. Rejecting exports is left to access rules. */
export const allowed = ({ apiVersion, uid }: ExportReview, warnings: readonly string[]): object => ({
  kind: 'AdmissionReview',
  apiVersion,
  response: { uid, allowed: true, ...(warnings.length > 0 ? { warnings } : {}) },
});
