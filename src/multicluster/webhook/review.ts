// AdmissionReview v1 as far as it is about exports: the question, and the answer, which is always yes.
import { isJsonObject } from '../../api/schema/json-object.ts';
import type { ServiceKey } from '../record.ts';

/** Somebody creates an export. */
export interface ExportReview extends ServiceKey {
  readonly uid: string;
  readonly apiVersion: string;
  readonly operation: string;
  readonly dryRun: boolean;
}

/** Reads a question; undefined: it is none. */
export function readReview(body: unknown): ExportReview | undefined {
  if (!isJsonObject(body) || body['kind'] !== 'AdmissionReview' || !isJsonObject(body['request'])) return undefined;
  const { apiVersion, request } = body;
  const { uid, operation, namespace, name, dryRun } = request;
  const words = [apiVersion, uid, operation, namespace, name];
  if (!words.every((word) => typeof word === 'string')) return undefined;
  const [version = '', id = '', verb = '', space = '', called = ''] = words;
  return { apiVersion: version, uid: id, operation: verb, namespace: space, name: called, dryRun: dryRun === true };
}

/** The answer: it may be made, and this is what to know. Nothing is refused here: access rules do that. */
export const allowed = ({ apiVersion, uid }: ExportReview, warnings: readonly string[]): object => ({
  kind: 'AdmissionReview',
  apiVersion,
  response: { uid, allowed: true, ...(warnings.length > 0 ? { warnings } : {}) },
});
