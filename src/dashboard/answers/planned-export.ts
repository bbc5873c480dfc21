// Reads what a person planned: an export of a Service that exists, or of a manifest.
import { messageOf } from '../../api/error-message.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { serviceIn } from '../../loadbalancer/inspect.ts';
import type { Viewer } from '../server/viewer.ts';
import type { ExportPlanText } from '../view/details.ts';
import type { ClusterSet } from './cluster-set.ts';
import { AnswerError } from './errors.ts';
import { objectsIn } from './manifest.ts';
import { exportPlan, requireRightsInAll } from './sharing.ts';

/** The plan that a form describes. Rejects with an AnswerError that names the field at fault. */
export async function plannedExport(
  form: Readonly<Record<string, unknown>>,
  { set, viewer }: { readonly set: ClusterSet; readonly viewer: Viewer },
): Promise<ExportPlanText> {
  const { verb, cluster, manifest } = form;
  if (verb !== 'export' && verb !== 'unexport') throw new AnswerError(400, 'verb: expected export or unexport');
  if (typeof cluster !== 'string' || cluster === '') throw new AnswerError(400, 'choose the exporting cluster');
  const planned =
    typeof manifest === 'string' && manifest.trim() !== '' ? inManifest(manifest) : named(form['service']);
  requireRightsInAll(planned.key, set, viewer);
  return exportPlan(planned.key, { verb, cluster, service: planned.service }, set);
}

interface Planned {
  readonly key: string;
  readonly service?: Service;
}

function named(service: unknown): Planned {
  const parts = typeof service === 'string' ? service.trim().split('/') : [];
  if (parts.length !== 2 || parts.includes('')) {
    throw new AnswerError(400, 'expected NAMESPACE/NAME of a Service, such as shop/web, or a manifest');
  }
  return { key: parts.join('/') };
}

/** The Service of a manifest, or the name of its ServiceExport. */
function inManifest(text: string): Planned {
  const objects = objectsIn(text);
  const service = objects.find(({ kind }) => kind === 'Service');
  const exported = objects.find(({ kind }) => kind === 'ServiceExport');
  const named = keyOf(exported ?? service);
  if (named === undefined) throw new AnswerError(400, 'the manifest has no Service and no ServiceExport');
  if (service === undefined) return { key: named };
  if (keyOf(service) !== named) throw new AnswerError(400, 'the Service and the ServiceExport have different names');
  try {
    return { key: named, service: serviceIn(service) };
  } catch (cause) {
    throw new AnswerError(400, messageOf(cause), { cause });
  }
}

function keyOf(object: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const metadata = object?.['metadata'];
  if (typeof metadata !== 'object' || metadata === null) return undefined;
  const { namespace = 'default', name } = metadata as { readonly namespace?: unknown; readonly name?: unknown }; // checked
  return typeof namespace === 'string' && typeof name === 'string' ? `${namespace}/${name}` : undefined;
}
