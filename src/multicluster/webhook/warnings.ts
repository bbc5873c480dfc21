// Formats a plan as warnings, which API servers return in headers and kubectl prints.
import { exportWarnings } from '../../api/kinds/multicluster/validate.ts';
import type { ExporterReport } from '../explain/explain.ts';
import { viewText } from '../explain/explain.ts';
import type { ExportPlan, ImporterPlan } from '../explain/plan.ts';
import { conflictText, listText } from '../merge/conflict.ts';

/** Clusters that are listed; others are counted, because a response has room for about sixteen warnings. */
const maxImporters = 8;

/** The warnings for a dry run: everything that would happen. */
export function dryRunWarnings(plan: ExportPlan, cluster: string): readonly string[] {
  const exporter = exporterIn(plan, cluster);
  if (exporter?.state === 'invalid') {
    return [...customary(plan), `plan: nothing would be exported: ${exporter.message ?? ''}`];
  }
  const listed = plan.importers.slice(0, maxImporters);
  const left = plan.importers.length - listed.length;
  return [
    ...customary(plan),
    ...viewLines(plan),
    ...listed.map(importerLine),
    ...(left > 0 ? [`plan: and ${left} more clusters: fairlead mcs plan shows all`] : []),
    ...conflictLines(plan),
    ...(plan.solvedConflicts.length > 0
      ? [`plan: conflicts over ${listText(plan.solvedConflicts.map(({ field }) => field))} would be resolved`]
      : []),
  ];
}

/** The warnings for a creation: only unwanted effects. */
export function createWarnings(plan: ExportPlan, cluster: string): readonly string[] {
  const { state, reason, message = '' } = exporterIn(plan, cluster) ?? {};
  // Creating the Service after its export is normal.
  const isIneffective = (state === 'invalid' && reason !== 'NoService') || reason === 'InvalidAudience';
  return [...customary(plan), ...(isIneffective ? [`nothing is exported: ${message}`] : []), ...conflictLines(plan)];
}

const exporterIn = ({ after }: ExportPlan, cluster: string): ExporterReport | undefined =>
  after.exporters.find((each) => each.cluster === cluster);

/** The warnings that Fairlead's own server returns for every export (MCS-31); kubectl prints duplicates once. */
const customary = ({ namespace, name }: ExportPlan): readonly string[] =>
  exportWarnings({ metadata: { namespace, name } }, undefined);

function viewLines({ before, after }: ExportPlan): readonly string[] {
  const [supercluster, clusterset] = [viewText(after.views.supercluster), viewText(after.views.clusterset)];
  const was = viewText(before.views.clusterset);
  const since = was === 'none' ? '' : was === clusterset ? ' (as now)' : ` (now ${was})`;
  if (supercluster === clusterset) return [`plan: imported ${clusterset}${since}`];
  return [`plan: ServiceImport ${clusterset}${since}`, `plan: ImportedService ${supercluster}`];
}

function importerLine({ cluster, isReachable, ips, refusals, writes, slices, hiddenFrom }: ImporterPlan): string {
  const [refusal] = refusals;
  if (hiddenFrom.length > 0 && slices === 0)
    return `plan: in ${cluster}: not in the audience of ${listText(hiddenFrom)}`;
  if (refusal !== undefined) return `plan: in ${cluster}: ${refusal.message}`;
  const where = ips.length > 0 ? listText(ips) : 'no address';
  const changes = [
    ...(writes.create > 0 ? [`${writes.create} created`] : []),
    ...(writes.update > 0 ? [`${writes.update} changed`] : []),
    ...(writes.delete > 0 ? [`${writes.delete} deleted`] : []),
  ];
  const what = changes.length === 0 ? 'nothing to write' : `objects: ${changes.join(', ')}`;
  return `plan: in ${cluster}: ${where}, slices: ${slices}, ${what}${isReachable ? '' : ' (cannot be reached now)'}`;
}

const conflictLines = ({ newConflicts }: ExportPlan): readonly string[] =>
  newConflicts.map((conflict) => `conflict over ${conflictText(conflict)}`);
